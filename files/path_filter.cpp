#include "sluice/files/path_filter.hpp"

#include <algorithm>
#include <cstring>

#include "sluice/matcher/dataset_key.hpp"

namespace sluice::files {

namespace {

/// The word before the next tabulator; `line` becomes what is behind that.
std::string_view take_word(std::string_view& line) noexcept {
  const std::string_view word = line.substr(0, line.find('\t'));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

/// What each name that the pattern covers ends with: of its last component all behind the last wildcard.
std::string_view literal_end(std::string_view pattern) noexcept {
  if (pattern.ends_with('/') || pattern.ends_with('.')) return {};  // it may be a directory's own name
  const std::size_t last = pattern.find_last_of("*?]/");
  return last == std::string_view::npos ? pattern : pattern.substr(last + 1);
}

}  // namespace

void PathFilter::read(const char* rules, Use use) noexcept {
  if (rules == nullptr) return;
  for (std::string_view rest(rules); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    add(line, use);
  }
}

void PathFilter::add(std::string_view line, Use use) noexcept {
  (void)take_word(line);
  const std::string_view access = take_word(line);
  const auto through = matcher::through_of(take_word(line));
  const bool is_writer = access.starts_with('w') || access.starts_with("rw");
  if (is_writer != (use == Use::writing) || !through || !matcher::covers_c_library(*through)) return;
  const std::string_view end = literal_end(line);
  if (count_ == ends_.size() || end.size() > text_.size() - used_bytes_) {
    passes_all_ = true;
    return;
  }
  std::ranges::copy(end, text_.begin() + static_cast<std::ptrdiff_t>(used_bytes_));
  ends_[count_++] = {used_bytes_, end.size()};
  used_bytes_ += end.size();
}

bool PathFilter::may_cover(const char* path) const noexcept {
  if (count_ == 0 || path == nullptr) return passes_all_ && path != nullptr;
  const std::string_view name(path);
  const std::string_view text(text_.data(), used_bytes_);
  return passes_all_ ||
         std::any_of(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(count_),
                     [&](const End& end) { return name.ends_with(text.substr(end.begin, end.size)); });
}

}  // namespace sluice::files
