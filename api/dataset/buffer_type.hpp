#pragma once
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sluice/formats/types.hpp"

namespace sluice::api {

/// The decoded MPI datatype of a user's buffer: its element type, and the positions of one item's elements.
/// It is a value: the MPI datatype may be freed afterwards, because a nonblocking request outlives it.
class BufferType {
 public:
  BufferType() = default;
  /// A predefined type: one element for each item.
  explicit BufferType(formats::Type element)
      : element_(element),
        elements_(1),
        extent_bytes_(static_cast<std::int64_t>(formats::size_of(element))) {}

  [[nodiscard]] formats::Type element() const noexcept { return element_; }
  /// Whether the elements have type `long`. Here that is int64, but PnetCDF's fill values treat it
  /// separately.
  [[nodiscard]] bool is_long() const noexcept { return is_long_; }
  /// The number of elements in one item.
  [[nodiscard]] std::int64_t elements() const noexcept { return elements_; }
  /// Whether items lie in memory in order and without gaps, from the buffer's first byte.
  [[nodiscard]] bool is_dense() const noexcept { return nodes_.empty(); }

  /// Copies `items` items between the user's memory and a dense row of elements.
  void pack(const void* user, std::int64_t items, void* dense) const noexcept;
  void unpack(const void* dense, std::int64_t items, void* user) const noexcept;

  /// Calls visit(offset_bytes, length_bytes) for each run of bytes of one item, in order.
  template <class Visit>
  void for_each_run(const Visit& visit) const {
    if (!nodes_.empty()) {
      visit_runs(nodes_.back(), 0, visit);
    } else if (elements_ > 0) {
      visit(std::int64_t{0}, elements_ * static_cast<std::int64_t>(formats::size_of(element_)));
    }
  }

 private:
  friend class BufferTypeDecoder;

  /// `count` pieces, `stride_bytes` apart. Each piece is a run of `run_bytes` bytes, or an inner node (child
  /// >= 0).
  struct Part {
    std::int64_t offset_bytes = 0;
    std::int64_t count = 1;
    std::int64_t stride_bytes = 0;
    std::int64_t run_bytes = 0;
    int child = -1;
  };
  using Node = std::vector<Part>;

  template <class Visit>
  void visit_runs(const Node& node, std::int64_t offset_bytes, const Visit& visit) const {
    for (const auto& part : node) {
      for (std::int64_t i = 0; i < part.count; ++i) {
        const auto position = offset_bytes + part.offset_bytes + i * part.stride_bytes;
        if (part.child < 0) {
          visit(position, part.run_bytes);
        } else {
          visit_runs(nodes_[static_cast<std::size_t>(part.child)], position, visit);
        }
      }
    }
  }

  template <bool packing>
  void copy(const Node& node, std::byte* user, std::byte*& dense) const noexcept;

  formats::Type element_ = formats::Type::nat;
  bool is_long_ = false;
  std::int64_t elements_ = 0;
  std::int64_t extent_bytes_ = 0;
  std::vector<Node> nodes_;  ///< the last one describes an item; empty for a dense type
};

/// The element type of a predefined MPI datatype (C and Fortran names). Nothing if netCDF has no such type;
/// nat if PnetCDF knows the type but converts it to no other type (MPI_BYTE).
[[nodiscard]] std::optional<formats::Type> element_of(MPI_Datatype predefined) noexcept;

/// Decodes `type`. Throws Error: NC_EUNSPTETYPE for an element type that netCDF does not have, NC_EMULTITYPES
/// for several element types, MpiError.
[[nodiscard]] BufferType decode_buffer_type(MPI_Datatype type);

}  // namespace sluice::api
