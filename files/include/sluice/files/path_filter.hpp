#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace sluice::files {

/// What a path is compared with before anything else: the ends of the patterns of the rules by which this
/// process reads, or writes. No memory is taken, no lock and no system call is made, so that any call of any
/// program may come by.
class PathFilter {
 public:
  enum class Use { reading, writing };
  /// `rules`: SLUICE_RULES, or null. Of it count the rules of which the component is a reader only, or the
  /// writer, and whose data is in memory or in burst-buffer logs. What does not fit lets every path pass.
  void read(const char* rules, Use use) noexcept;
  [[nodiscard]] bool is_empty() const noexcept { return count_ == 0 && !passes_all_; }

  /// Whether a rule may cover the path; never false where one does.
  [[nodiscard]] bool may_cover(const char* path) const noexcept;

 private:
  void add(std::string_view line, Use use) noexcept;

  static constexpr std::size_t most_rules = 64;
  static constexpr std::size_t most_bytes = 4096;
  struct End {
    std::size_t begin = 0, size = 0;  ///< in text_
  };
  std::array<char, most_bytes> text_{};
  std::array<End, most_rules> ends_{};
  std::size_t used_bytes_ = 0;
  std::size_t count_ = 0;
  bool passes_all_ = false;
};

}  // namespace sluice::files
