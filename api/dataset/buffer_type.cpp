#include "buffer_type.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mpi_handles.hpp"

namespace sluice::api {

using formats::Type;

namespace {

/// Copies between a dense row and `count` runs that lie `stride` bytes apart. The length is a template
/// argument, so common lengths compile to moves.
template <bool packing, std::size_t run_bytes>
void copy_short_runs(std::byte* user, std::int64_t count, std::int64_t stride, std::byte*& dense) noexcept {
  auto* row = dense;
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (packing) {
      std::memcpy(row, user, run_bytes);
    } else {
      std::memcpy(user, row, run_bytes);
    }
    row += run_bytes;
    user += stride;
  }
  dense = row;
}

template <bool packing>
void copy_runs(std::byte* user, std::int64_t count, std::int64_t stride, std::size_t run_bytes,
               std::byte*& dense) noexcept {
  switch (run_bytes) {
    case 1:
      return copy_short_runs<packing, 1>(user, count, stride, dense);
    case 2:
      return copy_short_runs<packing, 2>(user, count, stride, dense);
    case 4:
      return copy_short_runs<packing, 4>(user, count, stride, dense);
    case 8:
      return copy_short_runs<packing, 8>(user, count, stride, dense);
    default:
      for (std::int64_t i = 0; i < count; ++i) {
        if constexpr (packing) {
          std::memcpy(dense, user, run_bytes);
        } else {
          std::memcpy(user, dense, run_bytes);
        }
        dense += run_bytes;
        user += stride;
      }
  }
}

}  // namespace

template <bool packing>
void BufferType::copy(const Node& node, std::byte* user, std::byte*& dense) const noexcept {
  for (const auto& part : node) {
    auto* position = user + part.offset_bytes;
    if (part.child < 0) {
      copy_runs<packing>(position, part.count, part.stride_bytes, static_cast<std::size_t>(part.run_bytes),
                         dense);
      continue;
    }
    const auto& child = nodes_[static_cast<std::size_t>(part.child)];
    for (std::int64_t i = 0; i < part.count; ++i)
      copy<packing>(child, position + i * part.stride_bytes, dense);
  }
}

void BufferType::pack(const void* user, std::int64_t items, void* dense) const noexcept {
  if (is_dense()) {
    if (items > 0)
      std::memcpy(dense, user, static_cast<std::size_t>(items * elements_) * formats::size_of(element_));
    return;
  }
  // The memory is only read here. One walk serves both directions, so it takes pointers to mutable bytes.
  auto* from = static_cast<std::byte*>(const_cast<void*>(user));
  auto* to = static_cast<std::byte*>(dense);
  for (std::int64_t i = 0; i < items; ++i) copy<true>(nodes_.back(), from + i * extent_bytes_, to);
}

void BufferType::unpack(const void* dense, std::int64_t items, void* user) const noexcept {
  if (is_dense()) {
    if (items > 0)
      std::memcpy(user, dense, static_cast<std::size_t>(items * elements_) * formats::size_of(element_));
    return;
  }
  auto* from = static_cast<std::byte*>(const_cast<void*>(dense));
  auto* to = static_cast<std::byte*>(user);
  for (std::int64_t i = 0; i < items; ++i) copy<false>(nodes_.back(), to + i * extent_bytes_, from);
}

std::optional<Type> element_of(MPI_Datatype predefined) noexcept {
  struct Named {
    MPI_Datatype type;
    Type element;
  };
  // Frequent types come first: every call searches this table.
  static const Named table[] = {
      {MPI_DOUBLE, Type::float64},
      {MPI_FLOAT, Type::float32},
      {MPI_INT, Type::int32},
      {MPI_LONG_LONG_INT, Type::int64},
      {MPI_CHAR, Type::text},
      {MPI_SIGNED_CHAR, Type::int8},
      {MPI_UNSIGNED_CHAR, Type::uint8},
      {MPI_SHORT, Type::int16},
      {MPI_UNSIGNED_SHORT, Type::uint16},
      {MPI_UNSIGNED, Type::uint32},
      {MPI_UNSIGNED_LONG_LONG, Type::uint64},
      {MPI_LONG, sizeof(long) == 8 ? Type::int64 : Type::int32},
      {MPI_CHARACTER, Type::text},
      {MPI_INTEGER, Type::int32},
      {MPI_REAL, Type::float32},
      {MPI_DOUBLE_PRECISION, Type::float64},
      {MPI_INTEGER1, Type::int8},
      {MPI_INTEGER2, Type::int16},
      {MPI_INTEGER4, Type::int32},
      {MPI_INTEGER8, Type::int64},
      {MPI_REAL4, Type::float32},
      {MPI_REAL8, Type::float64},
      // PnetCDF knows these types as elements but converts none of them. It returns NC_EBADTYPE after it has
      // compared the amounts.
      {MPI_BYTE, Type::nat},
      {MPI_UNSIGNED_LONG, Type::nat},
  };
  for (const auto& named : table) {
    if (named.type == predefined) return named.element;
  }
  return std::nullopt;
}

/// Decodes one datatype recursively.
class BufferTypeDecoder {
 public:
  static BufferType decode(MPI_Datatype type) {
    BufferTypeDecoder decoder;
    const auto item = decoder.describe(type);
    auto& result = decoder.result_;
    result.elements_ = item.elements;
    result.extent_bytes_ = item.extent_bytes;
    const bool is_run = item.node < 0;
    const bool is_dense =
        item.elements == 0 || (is_run && item.offset_bytes == 0 && item.run_bytes == item.extent_bytes);
    if (is_dense) {
      result.nodes_.clear();
    } else if (is_run) {
      result.nodes_.push_back({{item.offset_bytes, 1, 0, item.run_bytes, -1}});
    }
    return std::move(result);
  }

 private:
  /// One item of a datatype: a run of bytes, or a node.
  struct Item {
    std::int64_t elements = 0;
    std::int64_t extent_bytes = 0;
    std::int64_t offset_bytes = 0;
    std::int64_t run_bytes = 0;
    int node = -1;
  };
  /// `count` items, `stride_bytes` apart.
  struct Repetition {
    std::int64_t offset_bytes = 0;
    std::int64_t count = 1;
    std::int64_t stride_bytes = 0;
    Item item;
  };
  /// The result of MPI_Type_get_contents; frees the datatypes in it.
  struct Contents {
    std::vector<int> integers;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Datatype> types;

    Contents(MPI_Datatype type, int integer_count, int address_count, int type_count)
        : integers(static_cast<std::size_t>(integer_count)),
          addresses(static_cast<std::size_t>(address_count)),
          types(static_cast<std::size_t>(type_count), MPI_DATATYPE_NULL) {
      check_mpi(MPI_Type_get_contents(type, integer_count, address_count, type_count, integers.data(),
                                      addresses.data(), types.data()),
                "take the buffer's datatype apart");
    }
    Contents(const Contents&) = delete;
    Contents& operator=(const Contents&) = delete;
    ~Contents() {
      for (auto& type : types) {
        if (type != MPI_DATATYPE_NULL && !is_predefined(type)) MPI_Type_free(&type);
      }
    }
  };

  static bool is_predefined(MPI_Datatype type) noexcept {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = MPI_COMBINER_NAMED;
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
  }

  static std::int64_t extent_of(MPI_Datatype type) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    check_mpi(MPI_Type_get_extent(type, &lower, &extent), "ask for a datatype's extent");
    return extent;
  }

  Item describe(MPI_Datatype type) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = MPI_COMBINER_NAMED;
    check_mpi(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner),
              "look at the buffer's datatype");
    if (types == 0) return describe_predefined(type);
    const Contents contents(type, integers, addresses, types);
    auto item = describe_derived(combiner, contents);
    item.extent_bytes = extent_of(type);
    return item;
  }

  Item describe_predefined(MPI_Datatype type) {
    const auto element = element_of(type);
    if (!element) {
      throw Error(NC_EUNSPTETYPE,
                  "the buffer's MPI datatype has elements of a type that netCDF does not have");
    }
    if (has_element_ && *element != result_.element_) {
      throw Error(NC_EMULTITYPES, "the buffer's MPI datatype mixes element types: netCDF data has one type");
    }
    has_element_ = true;
    result_.element_ = *element;
    result_.is_long_ = type == MPI_LONG;
    const auto extent = extent_of(type);
    return {1, extent, 0, extent, -1};
  }

  Item describe_derived(int combiner, const Contents& contents) {
    const auto& n = contents.integers;
    const auto& at = contents.addresses;
    if (combiner == MPI_COMBINER_STRUCT) return describe_struct(contents);
    const auto child = describe(contents.types[0]);
    const auto extent = child.extent_bytes;
    switch (combiner) {
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED:
        return child;
      case MPI_COMBINER_CONTIGUOUS:
        return join({{0, n[0], extent, child}});
      case MPI_COMBINER_VECTOR:
        return join({{0, n[0], n[2] * extent, block(n[1], child)}});
      case MPI_COMBINER_HVECTOR:
        return join({{0, n[0], at[0], block(n[1], child)}});
      case MPI_COMBINER_INDEXED:
        return join_blocks(
            n[0], child, [&](std::size_t i) { return n[1 + i]; },
            [&](std::size_t i) { return n[1 + static_cast<std::size_t>(n[0]) + i] * extent; });
      case MPI_COMBINER_HINDEXED:
        return join_blocks(
            n[0], child, [&](std::size_t i) { return n[1 + i]; },
            [&](std::size_t i) { return std::int64_t{at[i]}; });
      case MPI_COMBINER_INDEXED_BLOCK:
        return join_blocks(
            n[0], child, [&](std::size_t) { return n[1]; }, [&](std::size_t i) { return n[2 + i] * extent; });
      case MPI_COMBINER_HINDEXED_BLOCK:
        return join_blocks(
            n[0], child, [&](std::size_t) { return n[1]; },
            [&](std::size_t i) { return std::int64_t{at[i]}; });
      case MPI_COMBINER_SUBARRAY:
        return describe_subarray(n, child);
      case MPI_COMBINER_DARRAY:
        return describe_darray(n, child);
      default:
        throw Error(NC_EUNSPTETYPE, "the buffer's MPI datatype is not supported");
    }
  }

  Item describe_struct(const Contents& contents) {
    std::vector<Repetition> parts;
    for (std::size_t i = 0; i < contents.types.size(); ++i) {
      const auto child = describe(contents.types[i]);
      parts.push_back({contents.addresses[i], contents.integers[1 + i], child.extent_bytes, child});
    }
    return join(parts);
  }

  Item describe_subarray(const std::vector<int>& n, Item item) {
    const auto dimensions = static_cast<std::size_t>(n[0]);
    const bool is_c_order = n[1 + 3 * dimensions] == MPI_ORDER_C;
    std::int64_t stride = item.extent_bytes;
    for (std::size_t i = 0; i < dimensions; ++i) {
      const auto d = is_c_order ? dimensions - 1 - i : i;  // fastest first
      const auto size = n[1 + d];
      const auto subsize = n[1 + dimensions + d];
      const auto start = n[1 + 2 * dimensions + d];
      item = join({{start * stride, subsize, stride, item}});
      stride *= size;
    }
    return item;
  }

  /// The part of a distributed array that one process of a grid owns; ranks are row-major.
  Item describe_darray(const std::vector<int>& n, Item item) {
    const auto rank = n[1];
    const auto dimensions = static_cast<std::size_t>(n[2]);
    const auto field = [&](std::size_t which, std::size_t d) { return n[3 + which * dimensions + d]; };
    const bool is_c_order = n[3 + 4 * dimensions] == MPI_ORDER_C;
    std::vector<int> coordinates(dimensions);
    auto rest = rank;
    for (std::size_t d = dimensions; d-- > 0;) {
      coordinates[d] = rest % field(3, d);
      rest /= field(3, d);
    }
    std::int64_t stride = item.extent_bytes;
    for (std::size_t i = 0; i < dimensions; ++i) {
      const auto d = is_c_order ? dimensions - 1 - i : i;
      const std::int64_t size = field(0, d);
      const std::int64_t processes = field(3, d);
      const auto distribution = field(1, d);
      std::int64_t length = field(2, d);
      if (distribution == MPI_DISTRIBUTE_NONE) {
        length = size;
      } else if (length == MPI_DISTRIBUTE_DFLT_DARG) {
        length = distribution == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
      }
      const auto step = distribution == MPI_DISTRIBUTE_CYCLIC ? processes * length : size;
      std::vector<Repetition> owned;
      for (auto first = coordinates[d] * length; first < size; first += step) {
        owned.push_back({first * stride, std::min(length, size - first), stride, item});
      }
      item = join(owned);
      stride *= size;
    }
    return item;
  }

  Item block(std::int64_t length, const Item& child) {
    auto item = join({{0, length, child.extent_bytes, child}});
    item.extent_bytes = length * child.extent_bytes;
    return item;
  }

  template <class Length, class Offset>
  Item join_blocks(int count, const Item& child, const Length& length, const Offset& offset) {
    std::vector<Repetition> parts;
    parts.reserve(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      parts.push_back({offset(i), length(i), child.extent_bytes, child});
    }
    return join(parts);
  }

  /// Combines several items into one: a run if they are adjacent, else a new node.
  Item join(const std::vector<Repetition>& repetitions) {
    Item joined;
    BufferType::Node node;
    for (const auto& r : repetitions) {
      if (r.count <= 0 || r.item.elements == 0) continue;
      joined.elements += r.count * r.item.elements;
      BufferType::Part part{r.offset_bytes, r.count, r.stride_bytes, r.item.run_bytes, r.item.node};
      if (part.child < 0) {
        part.offset_bytes += r.item.offset_bytes;
        if (part.count == 1 || part.stride_bytes == part.run_bytes) {
          part.run_bytes *= part.count;
          part.count = 1;
        }
        if (!node.empty() && continues(node.back(), part)) {
          node.back().run_bytes += part.run_bytes;
          continue;
        }
      }
      node.push_back(part);
    }
    if (node.empty()) return joined;
    if (node.size() == 1 && node[0].child < 0 && node[0].count == 1) {
      joined.offset_bytes = node[0].offset_bytes;
      joined.run_bytes = node[0].run_bytes;
      return joined;
    }
    result_.nodes_.push_back(std::move(node));
    joined.node = static_cast<int>(result_.nodes_.size()) - 1;
    return joined;
  }

  static bool continues(const BufferType::Part& run, const BufferType::Part& next) noexcept {
    return run.child < 0 && run.count == 1 && next.count == 1 &&
           run.offset_bytes + run.run_bytes == next.offset_bytes;
  }

  BufferType result_;
  bool has_element_ = false;
};

BufferType decode_buffer_type(MPI_Datatype type) {
  return BufferTypeDecoder::decode(type);
}

}  // namespace sluice::api
