// One message is in no test.
SLUICE_MESSAGE(KnownFields)
SLUICE_MESSAGE(ForgottenFields)
