#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "driver.hpp"
#include "sluice/formats/blobs.hpp"
#include "sluice/formats/placement.hpp"
#include "sluice/storage/extents.hpp"

namespace sluice::api {

/// What this process has put into variables that have no place in a file yet, in the file's representation.
class PendingPuts {
 public:
  /// Of one variable and record: which elements, ascending, and their bytes one after the other.
  struct Part {
    std::vector<formats::ElementRun> runs;
    std::vector<std::byte> bytes;
    bool is_ascending = true;
  };
  struct Key {
    int varid = 0;
    std::int64_t record = 0;  ///< 0 for a fixed variable
    std::int64_t call = 0;    ///< where parts of different calls are kept apart: that of a later call wins
    auto operator<=>(const Key&) const = default;
  };

  /// `header` is the user's; what was put is kept as long as its variables are the same.
  void use_header(const formats::Header& header) { elements_ = formats::element_header(header); }
  /// What the accesses of one call put, one after the other; where many name the same list of hyperslabs, it
  /// is sorted once. Keeps references.
  class Call {
   public:
    Call(PendingPuts& puts, const formats::Header& header, std::int64_t number = 0)
        : puts_(puts), header_(header), number_(number) {}
    /// Sets the access's status where values do not fit.
    void add(Access& access);

   private:
    /// The elements that a list names, where they are within one record and none is named twice.
    struct Pattern {
      const formats::HyperslabView* slabs = nullptr;
      formats::PlainPlace place;
      bool has_records = false;
      std::int64_t record = 0;
      std::vector<storage::Extent> extents;  ///< ascending; offsets are elements
      std::vector<formats::ElementRun> runs;
    };
    /// Null where the list is none for a pattern.
    [[nodiscard]] const Pattern* pattern_of(const Access& access);
    [[nodiscard]] std::optional<Pattern> make_pattern(const Access& access) const;
    void add_by_pattern(Access& access, const Pattern& pattern, Part& part);
    void add_in_order(Access& access);

    PendingPuts& puts_;
    const formats::Header& header_;
    std::int64_t number_;
    std::deque<Pattern> patterns_;  ///< few; the oldest makes room
  };
  /// Gives back what was put, from some call on; the rest as zeros, or leaves it as it is.
  enum class Rest { zeros, kept };
  void read(const formats::Header& header, Access& access, Rest rest = Rest::zeros,
            std::int64_t first_call = 0);

  /// The parts, each in ascending order; what was put later has replaced what was put before.
  [[nodiscard]] const std::map<Key, Part>& parts(const formats::Header& header);
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// Adds what was read from a file: bytes of elements in the order of the runs.
  void take(const Key& key, const std::vector<formats::ElementRun>& runs, std::span<const std::byte> bytes);
  /// Forgets a part.
  void remove(const Key& key) { parts_.erase(key); }
  void clear() noexcept;

 private:
  template <class Visit>
  void for_each_run(const formats::Header& header, const Access& access, const Visit& visit) const;
  [[nodiscard]] formats::PlainPlace place_of(int varid) const { return {elements_, layout_, varid}; }

  formats::Header elements_;
  formats::Layout layout_;  ///< of one record of elements: all 0
  std::map<Key, Part> parts_;
  std::int64_t bytes_ = 0;
};

}  // namespace sluice::api
