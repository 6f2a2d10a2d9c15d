using RegistryBody = std::variant<ClientRequest, ForgottenNotice>;
using MatcherBody = std::variant<Answer, ForgottenOrder>;
using Reply = std::variant<Done, ForgottenReply>;
using RoundTask = std::variant<ShutDown, ForgottenTask>;
