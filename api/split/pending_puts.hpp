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

/// Data that this process has put into variables without a place in a file, in the file's representation.
class PendingPuts {
 public:
  /// The data of one variable and record: the elements in ascending order, and their bytes in the same order.
  struct Part {
    std::vector<formats::ElementRun> runs;
    std::vector<std::byte> bytes;
    bool is_ascending = true;
  };
  struct Key {
    int varid = 0;
    std::int64_t record = 0;  ///< 0 for a fixed variable
    std::int64_t call = 0;    ///< separates parts of different calls: the part of a later call wins
    auto operator<=>(const Key&) const = default;
  };

  /// `header` is the user's header. Pending data stays valid as long as its variables do not change.
  void use_header(const formats::Header& header) { elements_ = formats::element_header(header); }
  /// The accesses of one call, put one after the other. A list of hyperslabs that many accesses share is
  /// sorted once. Keeps references to the accesses.
  class Call {
   public:
    Call(PendingPuts& puts, const formats::Header& header, std::int64_t number = 0)
        : puts_(puts), header_(header), number_(number) {}
    /// Puts the access; sets its status if values do not fit the type.
    void add(Access& access);

   private:
    /// The elements of a list that stays within one record and names no element twice.
    struct Pattern {
      const formats::HyperslabView* slabs = nullptr;
      formats::PlainPlace place;
      bool has_records = false;
      std::int64_t record = 0;
      std::vector<storage::Extent> extents;  ///< ascending; offsets count elements
      std::vector<formats::ElementRun> runs;
    };
    /// Null if the list cannot be a pattern.
    [[nodiscard]] const Pattern* pattern_of(const Access& access);
    [[nodiscard]] std::optional<Pattern> make_pattern(const Access& access) const;
    void add_by_pattern(Access& access, const Pattern& pattern, Part& part);
    void add_in_order(Access& access);

    PendingPuts& puts_;
    const formats::Header& header_;
    std::int64_t number_;
    std::deque<Pattern> patterns_;  ///< at most a few; the oldest is removed first
  };
  /// Reads back the data put since a given call. Other elements become zeros, or stay as they are.
  enum class Rest { zeros, kept };
  void read(const formats::Header& header, Access& access, Rest rest = Rest::zeros,
            std::int64_t first_call = 0);

  /// The parts, with their elements in ascending order. Later puts have replaced earlier ones.
  [[nodiscard]] const std::map<Key, Part>& parts(const formats::Header& header);
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// Adds data that was read from a file: the bytes of elements in the order of the runs.
  void take(const Key& key, const std::vector<formats::ElementRun>& runs, std::span<const std::byte> bytes);
  /// Removes a part.
  void remove(const Key& key) { parts_.erase(key); }
  void clear() noexcept;

 private:
  template <class Visit>
  void for_each_run(const formats::Header& header, const Access& access, const Visit& visit) const;
  [[nodiscard]] formats::PlainPlace place_of(int varid) const { return {elements_, layout_, varid}; }

  formats::Header elements_;
  formats::Layout layout_;  ///< of one record in elements: all 0
  std::map<Key, Part> parts_;
  std::int64_t bytes_ = 0;
};

}  // namespace sluice::api
