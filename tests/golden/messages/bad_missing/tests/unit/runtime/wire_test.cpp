void for_every_message(auto use) {
  use(KnownFields{1});
}
