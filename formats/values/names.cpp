#include "sluice/formats/names.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "sluice/formats/status.hpp"

namespace sluice::formats {

namespace {

constexpr bool is_ascii(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x80;
}

constexpr bool is_control(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

constexpr bool may_be_first(char c) noexcept {
  return !is_ascii(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

bool is_utf8(std::string_view name) noexcept {
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(name.data());
  auto left = static_cast<utf8proc_ssize_t>(name.size());
  while (left > 0) {
    utf8proc_int32_t codepoint = 0;
    const auto taken = utf8proc_iterate(at, left, &codepoint);
    if (taken <= 0) return false;
    at += taken;
    left -= taken;
  }
  return true;
}

struct Free {
  void operator()(utf8proc_uint8_t* p) const noexcept { std::free(p); }
};

}  // namespace

int check_wanted_name(std::string_view name) noexcept {
  if (name.empty()) return NC_EBADNAME;
  if (name.size() > max_name_bytes) return NC_EMAXNAME;
  return is_utf8(name) ? NC_NOERR : NC_EBADNAME;
}

std::string_view name_in_file(std::string_view bytes) noexcept {
  return bytes.substr(0, bytes.find('\0'));
}

int check_name(std::string_view name) noexcept {
  if (name.size() > max_name_bytes) return NC_EMAXNAME;
  const bool is_allowed = !name.empty() && may_be_first(name.front()) && name.back() != ' ' &&
                          std::ranges::none_of(name, [](char c) { return is_control(c) || c == '/'; });
  return is_allowed && is_utf8(name) ? NC_NOERR : NC_EBADNAME;
}

std::string normalised_name(std::string_view name) {
  if (std::all_of(name.begin(), name.end(), is_ascii)) return std::string(name);
  utf8proc_uint8_t* composed = nullptr;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(name.data()),
                                   static_cast<utf8proc_ssize_t>(name.size()), &composed,
                                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, Free> owner(composed);
  if (length < 0) return std::string(name);
  return {reinterpret_cast<const char*>(composed), static_cast<std::size_t>(length)};
}

std::string_view normalised_name(std::string_view name, std::string& storage) {
  if (std::all_of(name.begin(), name.end(), is_ascii)) return name;
  storage = normalised_name(name);
  return storage;
}

}  // namespace sluice::formats
