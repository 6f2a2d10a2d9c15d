#include "console.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "format.hpp"

namespace sluice::coordinator {
namespace {

struct TerminalSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
};

TerminalSize terminal_size() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

/// The UTF-8 text, with at most `width` characters.
std::string fitting(std::string_view text, std::size_t width) {
  std::size_t characters = 0;
  std::size_t last = 0;  // the character that gives way to "…"
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0u) == 0x80) continue;
    if (++characters == width) last = i;
    if (characters > width) return std::string(text.substr(0, last)) + "…";
  }
  return std::string(text);
}

}  // namespace

Console::Console(Options options)
    : options_(options),
      has_status_(!options.quiet && options.progress == ProgressForm::automatic &&
                  is_capable_terminal(STDERR_FILENO)),
      has_status_colours_(has_colours(STDERR_FILENO)),
      has_label_colours_(has_status_colours_ && has_colours(STDOUT_FILENO)) {}

Console::~Console() {
  hide_status();
}

void Console::write_all(Stream stream, std::string_view text) {
  const int descriptor = stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO;
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // another process made our output non-blocking
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
  write(stream, coloured("[" + std::string(label) + "]", Colour::cyan, has_label_colours_) + " " +
                    std::string(text) + "\n");
}

void Console::error(std::string_view text) {
  line(Stream::error, "sluice", coloured(printable(text), Colour::red, has_label_colours_));
}

void Console::notice(std::string_view text) {
  if (!options_.quiet) line(Stream::error, "sluice", printable(text));
}

void Console::detail(std::string_view text) {
  if (options_.verbose) line(Stream::error, "sluice", printable(text));
}

void Console::block(std::string_view text) {
  if (!options_.quiet) write(Stream::out, text);
}

void Console::machine_line(std::string_view text) {
  write(Stream::error, std::string(text) + "\n");
}

void Console::status(std::vector<StatusLine> lines) {
  if (!has_status_ || lines == status_) return;
  hide_status();
  status_ = std::move(lines);
  show_status();
}

/// The cursor is at the end of the last line of the status.
void Console::hide_status() {
  if (shown_lines_ == 0) return;
  std::string text = "\r";
  if (shown_lines_ > 1) text += "\x1b[" + std::to_string(shown_lines_ - 1) + "A";
  write_all(Stream::error, text + "\x1b[J");
  shown_lines_ = 0;
}

void Console::show_status() {
  if (status_.empty()) return;
  const TerminalSize size = terminal_size();
  const std::size_t lines = std::min(status_.size(), size.rows > 2 ? size.rows - 2 : 1);
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) {
    text += i == 0 ? "" : "\r\n";
    text += coloured(fitting(status_[i].text, size.columns - 1), status_[i].colour, has_status_colours_);
  }
  write_all(Stream::error, text);
  shown_lines_ = lines;
}

}  // namespace sluice::coordinator
