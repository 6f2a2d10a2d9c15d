enum class MessageType {
  hello = 1,  // → welcome
  welcome = 2,
  forgotten_request = 3  // the page has the word outside of tables only
};
