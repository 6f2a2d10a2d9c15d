#include "yaml_document.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace sluice::workflows {
namespace {

/// The length of the valid UTF-8 sequence at the start of `text`; 0 if there is none. Overlong forms and
/// surrogates are invalid.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf5 ? 0 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool bad = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                   (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return bad ? 0 : length;
}

std::string hexadecimal(unsigned char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%02x", byte);
  return text;
}

/// Whether the whole input is text. Reports the first byte that is not as a mistake.
bool check_characters(std::string_view text, Findings& findings) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7f;
    const std::size_t length = utf8_length(text.substr(at));
    if (control || length == 0) {
      findings.mistake(position_at(text, at),
                       "the byte " + hexadecimal(byte) + " is not text: a workflow file is YAML in UTF-8");
      return false;
    }
    at += length;
  }
  return true;
}

/// Whether the indentation of the line at `mark` contains a tab.
bool is_indented_by_tab(std::string_view text, const YAML::Mark& mark) {
  if (mark.is_null() || mark.pos < mark.column || static_cast<std::size_t>(mark.pos) > text.size())
    return false;
  const std::string_view line = text.substr(static_cast<std::size_t>(mark.pos - mark.column));
  return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size())).find('\t') !=
         std::string_view::npos;
}

/// Translates yaml-cpp's messages for the most common mistakes.
std::string explain(const YAML::Exception& exception, std::string_view text) {
  const std::string& message = exception.msg;
  if (message == "bad file") return "it is nested too deeply";
  if (is_indented_by_tab(text, exception.mark)) return "the line is indented by a tab: indent with blanks";
  if (message == "illegal map value")
    return "a ':' is out of place: check the indentation, and put a text that contains ': ' in quotes";
  if (message == "the referenced anchor is not defined")
    return "nothing is called so: put a pattern that begins with '*' in quotes, as in \"*.nc\"";
  if (message == "end of sequence flow not found") return "the list '[' is not closed by ']'";
  if (message == "end of map flow not found") return "the mapping '{' is not closed by '}'";
  if (message == "end of map not found" || message == "end of sequence not found")
    return "the line begins at another column than the keys or elements before it: check the indentation";
  return message;
}

/// Skips one document and keeps only its start.
class DocumentStart : public YAML::EventHandler {
 public:
  Position position() const {
    return mark_.is_null() ? Position{} : Position{mark_.line + 1, mark_.column + 1};
  }

  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}

 private:
  YAML::Mark mark_ = YAML::Mark::null_mark();
};

/// The position of text after the first document of `text`; nothing if there is only one document.
/// YAML::LoadAll could find this, too. But it never returns if the rest is not a document, for example a
/// comma.
std::optional<Position> after_first_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStart first, second;
  if (!parser.HandleNextDocument(first) || !parser.HandleNextDocument(second)) return std::nullopt;
  return second.position();
}

}  // namespace

Position position_at(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  Position position;
  for (std::size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n') {
      ++position.line;
      position.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0u) != 0x80) {
      ++position.column;
    }
  }
  return position;
}

std::optional<YAML::Node> load_yaml(std::string_view text, Findings& findings) {
  if (text.size() > longest_file_bytes) {
    findings.mistake({}, "the file has " + std::to_string(text.size()) +
                             " bytes; a workflow file has at most " + std::to_string(longest_file_bytes));
    return std::nullopt;
  }
  if (!check_characters(text, findings)) return std::nullopt;
  try {
    const std::string whole(text);
    const std::optional<Position> next = after_first_document(whole);
    if (next) {
      findings.mistake(*next,
                       "the YAML document ended before this line, by '---' or by a misplaced character: "
                       "a workflow file has one document");
      return std::nullopt;
    }
    YAML::Node document = YAML::Load(whole);
    if (document.IsNull()) {
      findings.mistake({}, "the file is empty: a workflow has at least 'version' and 'components'");
      return std::nullopt;
    }
    return document;
  } catch (const YAML::Exception& exception) {
    const YAML::Mark& mark = exception.mark;
    findings.mistake(mark.is_null() ? Position{} : Position{mark.line + 1, mark.column + 1},
                     "this is not YAML: " + explain(exception, text));
    return std::nullopt;
  }
}

}  // namespace sluice::workflows
