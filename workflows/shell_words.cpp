#include "sluice/workflows/shell_words.hpp"

#include <cctype>
#include <optional>
#include <utility>

namespace sluice::workflows {
namespace {

/// The state of one pass over the command, with one method for each kind of character.
class Splitter {
 public:
  explicit Splitter(std::string_view command) : command_(command) {}

  ShellWords split() {
    while (at_ < command_.size()) step();
    finish_word();
    return std::move(result_);
  }

 private:
  void step() {
    const char c = command_[at_++];
    switch (c) {
      case ' ':
      case '\t':
      case '\n':
        finish_word();
        break;
      case '\'':
        single_quoted();
        break;
      case '"':
        double_quoted();
        break;
      case '\\':
        escaped();
        break;
      case '|':
      case '&':
      case ';':
      case '<':
      case '>':
      case '(':
      case ')':
      case '$':
      case '`':
        report_shell(c);
        append(c);
        break;
      default:
        append(c);
    }
  }

  void append(char c) {
    if (!word_) word_.emplace();
    word_->push_back(c);
  }

  void finish_word() {
    if (word_) result_.words.push_back(std::move(*word_));
    word_.reset();
  }

  void single_quoted() {
    if (!word_) word_.emplace();
    const std::size_t end = command_.find('\'', at_);
    if (end == std::string_view::npos) return unclosed('\'');
    word_->append(command_.substr(at_, end - at_));
    at_ = end + 1;
  }

  void double_quoted() {
    if (!word_) word_.emplace();
    for (; at_ < command_.size(); ++at_) {
      char c = command_[at_];
      if (c == '"') {
        ++at_;
        return;
      }
      const bool escapes = c == '\\' && at_ + 1 < command_.size() &&
                           std::string_view("\"\\$`\n").find(command_[at_ + 1]) != std::string_view::npos;
      if (escapes)
        c = command_[++at_];
      else if (c == '$' || c == '`')
        report_shell(c);
      word_->push_back(c);
    }
    unclosed('"');
  }

  void escaped() {
    if (at_ == command_.size()) {
      result_.problems.push_back(
          {"the command ends in a backslash: remove the backslash, or quote the argument"});
      return;
    }
    const char c = command_[at_++];
    const bool is_of_word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.';
    if (is_of_word && !std::exchange(has_reported_backslash_, true))
      result_.problems.push_back({std::string("the '\\' before '") + c +
                                  "' has no effect, and is left out: write '/' between directories, or put a "
                                  "'\\' in single quotes if an argument contains it"});
    if (c != '\n') append(c);
  }

  void unclosed(char quote) {
    at_ = command_.size();
    result_.problems.push_back({std::string("the quote ") + quote + " is not closed"});
  }

  void report_shell(char c) {
    if (reported_shell_) return;
    reported_shell_ = true;
    result_.problems.push_back({std::string("no shell runs the command, so '") + c +
                                "' has no effect. Put '" + c +
                                "' in single quotes if an argument contains it, or write [sh, -c, \"…\"]"});
  }

  std::string_view command_;
  std::size_t at_ = 0;
  std::optional<std::string> word_;
  bool reported_shell_ = false;
  bool has_reported_backslash_ = false;
  ShellWords result_;
};

}  // namespace

ShellWords split_shell_words(std::string_view command) {
  return Splitter(command).split();
}

}  // namespace sluice::workflows
