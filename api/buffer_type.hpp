#pragma once
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sluice/formats/types.hpp"

namespace sluice::api {

/// An MPI datatype that describes a user's buffer, taken apart: the one element type it is made of and where
/// one item's elements lie. A value: the MPI datatype may be freed afterwards (a nonblocking request outlives
/// it).
class BufferType {
 public:
  BufferType() = default;
  /// A predefined type: one element an item.
  explicit BufferType(formats::Type element)
      : element_(element),
        elements_(1),
        extent_bytes_(static_cast<std::int64_t>(formats::size_of(element))) {}

  [[nodiscard]] formats::Type element() const noexcept { return element_; }
  /// Elements of one item.
  [[nodiscard]] std::int64_t elements() const noexcept { return elements_; }
  /// Whether any number of items lies in memory without gaps and in order, from the buffer's first byte.
  [[nodiscard]] bool is_dense() const noexcept { return nodes_.empty(); }

  /// Copies `items` items between the user's memory and a dense row of elements.
  void pack(const void* user, std::int64_t items, void* dense) const noexcept;
  void unpack(const void* dense, std::int64_t items, void* user) const noexcept;

 private:
  friend class BufferTypeDecoder;

  /// `count` pieces, `stride_bytes` apart: each a run of `run_bytes` bytes, or an inner node (child >= 0).
  struct Part {
    std::int64_t offset_bytes = 0;
    std::int64_t count = 1;
    std::int64_t stride_bytes = 0;
    std::int64_t run_bytes = 0;
    int child = -1;
  };
  using Node = std::vector<Part>;

  template <bool packing>
  void copy(const Node& node, std::byte* user, std::byte*& dense) const noexcept;

  formats::Type element_ = formats::Type::nat;
  std::int64_t elements_ = 0;
  std::int64_t extent_bytes_ = 0;
  std::vector<Node> nodes_;  ///< the last one is an item; empty for a dense type
};

/// The element type that a predefined MPI datatype (C and Fortran names) stands for: nothing where netCDF has
/// none, nat where PnetCDF knows the type but converts it to none of its own (MPI_BYTE).
[[nodiscard]] std::optional<formats::Type> element_of(MPI_Datatype predefined) noexcept;

/// Takes `type` apart. Throws Error: NC_EUNSPTETYPE for an element type that netCDF does not have,
/// NC_EMULTITYPES for more than one, MpiError.
[[nodiscard]] BufferType decode_buffer_type(MPI_Datatype type);

}  // namespace sluice::api
