#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::coordinator {

/// Writes one JSON document on one line. Values within an object follow their keys; the caller closes what it
/// has opened.
class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_list();
  JsonWriter& end_list();
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(std::uint64_t number);
  JsonWriter& value(std::uint32_t number) { return value(std::uint64_t{number}); }
  JsonWriter& value(std::int32_t number) { return value(std::int64_t{number}); }
  JsonWriter& value(double number);
  JsonWriter& value(bool truth);
  JsonWriter& value(const std::vector<std::string>& texts);
  /// A member of an object.
  template <class Value>
  JsonWriter& member(std::string_view name, const Value& content) {
    return key(name).value(content);
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void separate();

  std::string text_;
  bool needs_comma_ = false;
};

/// The text as a JSON string with its quotes. Safe within a <script> of HTML, too; bytes that are no UTF-8
/// become question marks.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace sluice::coordinator
