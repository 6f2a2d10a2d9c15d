#pragma once
#include <functional>
#include <map>
#include <string>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// What a browser asks for: the address behind the token.
struct WebRequest {
  std::string path;
  std::map<std::string, std::string> query;
};

struct WebAnswer {
  unsigned status = 200;  ///< of HTTP
  std::string type = {};  ///< empty: plain text
  std::string body = {};
  bool has_own_script = false;  ///< within it; then it may fetch nothing
};

/// What is served. One thread calls `answer` and `news`, another one `stop`.
struct WebSite {
  std::string token;  ///< the first part of every address that is answered
  std::function<WebAnswer(const WebRequest&)> answer;
  std::function<std::string()> news;     ///< asked once a second while somebody looks: JSON
  std::function<void(int signal)> stop;  ///< at ^C and its like; does not return
};

/// Answers by HTTP, and by WebSocket at "live", whoever connects to the listening socket, TCP or Unix, until
/// a signal stops the process. It is for one user and his browser: whatever others send, it needs little
/// memory and time. docs/design/watching-a-run.md
[[noreturn]] void serve_site(runtime::FileDescriptor listening, const WebSite& site);

}  // namespace sluice::coordinator
