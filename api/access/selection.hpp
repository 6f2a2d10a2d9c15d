#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "known_lists.hpp"
#include "pnetcdf/entry.hpp"
#include "recent_slabs.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/formats/hyperslab.hpp"

namespace sluice::api {

/// One number for each dimension of a variable. Small numbers of dimensions need no allocation.
class DimensionNumbers {
 public:
  void assign(std::size_t dimensions, std::int64_t value) {
    size_ = dimensions;
    if (dimensions > inline_.size()) many_.resize(dimensions);
    std::fill_n(data(), dimensions, value);
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t& operator[](std::size_t d) noexcept { return data()[d]; }
  [[nodiscard]] std::span<const std::int64_t> view() const noexcept {
    return {size_ > inline_.size() ? many_.data() : inline_.data(), size_};
  }

 private:
  [[nodiscard]] std::int64_t* data() noexcept {
    return size_ > inline_.size() ? many_.data() : inline_.data();
  }

  std::array<std::int64_t, 8> inline_;
  std::vector<std::int64_t> many_;
  std::size_t size_ = 0;
};

/// The part of a variable that a call selects: a list of hyperslabs, checked against the variable's shape. It
/// refers to the user's start and count arrays where possible, so only varn needs an allocation.
class Selection {
 public:
  Selection() = default;
  Selection(const Selection&) = delete;  // slabs refer to members
  Selection& operator=(const Selection&) = delete;

  /// Takes the call's arguments, checks them in PnetCDF's order, and returns NC_NOERR or the error code.
  /// varid must be valid. A varn list that is in `recent` or `known` is used without a new check; a long
  /// list that is new is offered to `known`.
  [[nodiscard]] int resolve(const AccessCall& call, const formats::Header& header, bool is_put,
                            formats::StartRule start_rule = formats::StartRule::relaxed,
                            const RecentSlabs* recent = nullptr, KnownLists* known = nullptr);
  /// The slabs as a permanent list, which `recent` also keeps.
  [[nodiscard]] std::shared_ptr<const formats::SlabList> keep(RecentSlabs& recent) const;

  [[nodiscard]] std::span<const formats::HyperslabView> slabs() const noexcept {  // without empty slabs
    if (known_) return known_->views();
    return list_.empty() ? std::span<const formats::HyperslabView>(&single_, single_count_) : list_;
  }
  [[nodiscard]] std::int64_t elements() const noexcept { return elements_; }
  /// The record after the last selected one; 0 for a fixed variable.
  [[nodiscard]] std::int64_t record_end() const noexcept { return record_end_; }

 private:
  void set_shape(const formats::Header& header, int varid, bool is_put);
  int resolve_single(const AccessCall& call);
  int resolve_list(const AccessCall& call, const RecentSlabs* recent, KnownLists* known);
  [[nodiscard]] bool find_list(const AccessCall& call, const RecentSlabs* recent, KnownLists* known);
  [[nodiscard]] std::optional<ListBounds> bounds() const noexcept;
  [[nodiscard]] int check(const formats::HyperslabView& slab) const noexcept;
  int add(const formats::HyperslabView& slab);

  DimensionNumbers shape_;  ///< for a put, a record variable's first length is the format's limit
  std::int64_t records_ = 0;
  bool is_record_variable_ = false;
  bool is_put_ = false;
  formats::StartRule start_rule_ = formats::StartRule::relaxed;
  DimensionNumbers zeros_;
  DimensionNumbers ones_;
  formats::HyperslabView single_;
  std::size_t single_count_ = 0;
  std::vector<formats::HyperslabView> list_;
  std::size_t named_ = 0;                           ///< number of boxes in the user's list
  std::shared_ptr<const formats::SlabList> known_;  ///< shared with earlier requests that used the same list
  std::int64_t elements_ = 0;
  std::int64_t record_end_ = 0;
};

}  // namespace sluice::api
