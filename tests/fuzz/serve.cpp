// What sluice serve gets from a browser, and from anybody who can connect: requests, queries, WebSocket
// frames, by a connection of its own for each input; and the files that it reads. The first byte of the input
// selects what is around the others.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "fields.hpp"
#include "live_run.hpp"
#include "support.hpp"
#include "web_server.hpp"

using namespace sluice;

namespace {

constexpr const char* host = " HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr const char* upgrade =
    "GET /token/live HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// A run that has ended, and has kept one file.
coordinator::RunRecord ended_run() {
  static const std::string log =
      std::filesystem::temp_directory_path() / ("sluice-fuzz-" + std::to_string(getpid()));
  std::filesystem::create_directories(log);
  std::atexit([] {
    std::error_code ignored;
    std::filesystem::remove_all(log, ignored);
  });
  std::filesystem::copy_file(GOLDEN, log + "/kept.nc");
  std::ofstream(log + "/timeline.tsv") << "sluice-timeline\t1\nrun\tfuzz\t1\ncomponent\tmodel\t1\nrule\t0\t*."
                                          "nc\tmodel\tkeep\nend\t5\tfinished\n";
  std::ofstream(log + "/steps.tsv") << "sluice-steps\t2\nbegin\t1\t0\tkept\t" << log
                                    << "/kept.nc\npublished\t1\t1\t1\t0\nfile\t1\t" << log << "/kept.nc\n";
  coordinator::RunRecord run{"fuzz", 0, 1, "flow.yaml"};
  run.log_directory = log;
  return run;
}

/// The server, in a thread that ends with the process.
class Server {
 public:
  Server() : live_(ended_run()) {
    address_.sun_family = AF_UNIX;
    std::snprintf(address_.sun_path + 1, sizeof address_.sun_path - 1, "sluice-fuzz-%d", getpid());
    runtime::FileDescriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    fuzz::require(::bind(listening.number(), address(), sizeof address_) == 0, "the socket gets its name");
    fuzz::require(::listen(listening.number(), 8) == 0, "the socket listens");
    site_.token = "token";
    site_.answer = [this](const coordinator::WebRequest& request) { return live_.answer(request); };
    site_.news = [this] { return live_.news(); };
    site_.stop = [](int) { std::_Exit(0); };
    std::thread([this, listening = std::move(listening)]() mutable {
      coordinator::serve_site(std::move(listening), site_);
    }).detach();
    fuzz::require(ask("GET /token/file?rule=0" + std::string(host)).starts_with("HTTP/1.1 200"),
                  "a file is described");
  }

  /// What comes back until the server closes.
  std::string ask(const std::string& request) {
    const runtime::FileDescriptor line(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    fuzz::require(::connect(line.number(), address(), sizeof address_) == 0, "the server listens");
    for (std::size_t sent = 0; sent < request.size();) {
      const auto some = ::send(line.number(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (some <= 0) break;  // it does not want the rest
      sent += static_cast<std::size_t>(some);
    }
    (void)::shutdown(line.number(), SHUT_WR);
    std::string answer;
    char piece[1 << 16];
    for (ssize_t some; (some = ::read(line.number(), piece, sizeof piece)) > 0;)
      answer.append(piece, static_cast<std::size_t>(some));
    return answer;
  }

 private:
  [[nodiscard]] const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }

  sockaddr_un address_{};
  coordinator::LiveRun live_;
  coordinator::WebSite site_;
};

/// A file with any content is described, and its variables are read, or refused.
void read_fields(const std::string& content) {
  if (content.starts_with("\x89HDF")) return;  // another program reads these
  runtime::FileDescriptor memory(::memfd_create("input", MFD_CLOEXEC));
  (void)!::write(memory.number(), content.data(), content.size());
  fuzz::refuse_or([&] {
    const coordinator::StepFile file(std::move(memory), "input");
    (void)coordinator::describe_file(file);
    for (int id = 0; id < std::min(file.header().variable_count(), 8); ++id)
      for (const char* const at : {"", "*", "last", "*,*", "0,*,*", "last,1,*"})
        fuzz::refuse_or([&] { (void)coordinator::field_of(file, file.header().variable(id).name, at); });
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Server& server = *new Server;  // its thread uses it until the process ends
  if (size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      (void)server.ask(rest);
      break;
    case 1:
      (void)server.ask("GET /token/" + rest);
      break;
    case 2:
      (void)server.ask("GET /token/field?" + rest + host);
      break;
    case 3:
      (void)server.ask("GET /token/field?rule=0&variable=" + rest + host);
      break;
    case 4:
      (void)server.ask(upgrade + rest);
      break;
    default:
      read_fields(rest);
  }
  return 0;
}
