#include "console.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace sluice::coordinator {
namespace {

std::size_t terminal_width() {
  winsize size{};
  constexpr std::size_t usual = 80;
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

/// The first `width` characters of a UTF-8 text.
std::string_view fitting(std::string_view text, std::size_t width) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0u) == 0x80) continue;
    if (characters++ == width) return text.substr(0, i);
  }
  return text;
}

bool is_capable_terminal() {
  const char* const terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace

Console::Console(Options options)
    : options_(options), has_status_line_(!options.quiet && is_capable_terminal()) {}

Console::~Console() {
  hide_status();
}

void Console::write_all(Stream stream, std::string_view text) {
  const int descriptor = stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO;
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // somebody made our output non-blocking
      pollfd wait{descriptor, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      if (errno != EPIPE && failure_.empty())
        failure_ = std::string("output was lost: ") + (stream == Stream::out ? "stdout: " : "stderr: ") +
                   std::strerror(errno);
      return;
    }
  }
}

void Console::write(Stream stream, std::string_view text) {
  hide_status();
  write_all(stream, text);
  show_status();
}

void Console::line(Stream stream, std::string_view label, std::string_view text) {
  std::string line;
  line.reserve(label.size() + text.size() + 4);
  line.append("[").append(label).append("] ").append(text).append("\n");
  write(stream, line);
}

void Console::error(std::string_view text) {
  line(Stream::error, "sluice", text);
}

void Console::notice(std::string_view text) {
  if (!options_.quiet) line(Stream::error, "sluice", text);
}

void Console::detail(std::string_view text) {
  if (options_.verbose) line(Stream::error, "sluice", text);
}

void Console::block(std::string_view text) {
  if (!options_.quiet) write(Stream::out, text);
}

void Console::status(std::string text) {
  if (!has_status_line_ || text == status_) return;
  hide_status();
  status_ = std::move(text);
  show_status();
}

void Console::hide_status() {
  if (!status_.empty()) write_all(Stream::error, "\r\x1b[K");
}

void Console::show_status() {
  if (!status_.empty()) write_all(Stream::error, fitting(status_, terminal_width() - 1));
}

}  // namespace sluice::coordinator
