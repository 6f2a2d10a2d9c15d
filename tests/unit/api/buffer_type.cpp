#include "buffer_type.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "scattered_buffer.hpp"
#include "sluice/formats/error.hpp"
#include "support/seed.hpp"

using namespace sluice;
using api::BufferType;
using formats::Type;

namespace {

/// Frees the datatype at the end of its scope.
struct Owned {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Owned() = default;
  Owned(Owned&& other) noexcept : type(std::exchange(other.type, MPI_DATATYPE_NULL)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(type, other.type);
    return *this;
  }
  ~Owned() {
    if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  }
};

/// Draws derived datatypes of one base type, several levels deep.
class TypeGenerator {
 public:
  explicit TypeGenerator(std::uint64_t seed) : random_(seed) {}

  int between(int least, int greatest) {
    return std::uniform_int_distribution<int>(least, greatest)(random_);
  }

  Owned draw(MPI_Datatype base, int depth) {
    Owned inner;
    if (depth > 1) inner = draw(base, depth - 1);
    const auto child = depth > 1 ? inner.type : base;
    Owned made;
    switch (between(0, 10)) {
      case 0:
        MPI_Type_contiguous(between(0, 3), child, &made.type);
        break;
      case 1:
        MPI_Type_vector(between(1, 3), between(1, 2), between(2, 4), child, &made.type);
        break;
      case 2:
        MPI_Type_create_hvector(between(1, 3), between(1, 2), 8 * between(20, 40), child, &made.type);
        break;
      case 3:
      case 4:
        draw_indexed(child, made);
        break;
      case 5:
        draw_subarray(child, made);
        break;
      case 6:
        draw_struct(child, made);
        break;
      case 7:
        MPI_Type_create_resized(child, 0, extent_of(child) + 8 * between(0, 3), &made.type);
        break;
      case 8:
        MPI_Type_dup(child, &made.type);
        break;
      case 9:
        draw_darray(base, made);
        break;
      default:
        draw_blocks(child, made);
    }
    return made;
  }

  static MPI_Aint extent_of(MPI_Datatype type) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    return extent;
  }

 private:
  void draw_indexed(MPI_Datatype child, Owned& made) {
    const int n = between(1, 4);
    std::vector<int> lengths;
    std::vector<int> places;
    std::vector<MPI_Aint> bytes;
    for (int i = 0, next = 0; i < n; ++i) {
      lengths.push_back(between(0, 2));
      places.push_back(next + between(0, 2));
      bytes.push_back(places.back() * extent_of(child));
      next = places.back() + lengths.back();
    }
    if (between(0, 1) == 0)
      std::swap(places.front(), places.back());  // here overlap does not depend on the lengths
    if (between(0, 1) == 0) {
      MPI_Type_indexed(n, lengths.data(), places.data(), child, &made.type);
    } else {
      MPI_Type_create_hindexed(n, lengths.data(), bytes.data(), child, &made.type);
    }
  }

  void draw_blocks(MPI_Datatype child, Owned& made) {
    const int length = between(1, 2);
    int places[] = {0, 2 + between(0, 2), 8};
    MPI_Aint bytes[] = {0, 3 * extent_of(child), 9 * extent_of(child)};
    if (between(0, 1) == 0) {
      MPI_Type_create_indexed_block(3, length, places, child, &made.type);
    } else {
      MPI_Type_create_hindexed_block(3, length, bytes, child, &made.type);
    }
  }

  void draw_subarray(MPI_Datatype child, Owned& made) {
    const int n = between(1, 3);
    int sizes[3];
    int parts[3];
    int starts[3];
    for (int d = 0; d < n; ++d) {
      sizes[d] = between(1, 4);
      parts[d] = between(1, sizes[d]);
      starts[d] = between(0, sizes[d] - parts[d]);
    }
    MPI_Type_create_subarray(n, sizes, parts, starts, between(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                             child, &made.type);
  }

  void draw_struct(MPI_Datatype child, Owned& made) {
    int lengths[] = {between(0, 2), between(1, 2)};
    MPI_Aint places[] = {0, 3 * extent_of(child)};
    MPI_Datatype types[] = {child, child};
    MPI_Type_create_struct(2, lengths, places, types, &made.type);
  }

  void draw_darray(MPI_Datatype child, Owned& made) {
    const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int sizes[] = {between(2, 6), between(2, 6)};
    int kind[] = {kinds[between(0, 1)], kinds[between(0, 1)]};
    int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    if (kind[1] == MPI_DISTRIBUTE_CYCLIC) arguments[1] = between(1, 2);
    int processes[] = {2, 2};
    MPI_Type_create_darray(4, between(0, 3), 2, sizes, kind, arguments, processes,
                           between(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, child, &made.type);
  }

  std::mt19937 random_;
};

int status_of(MPI_Datatype type) {
  try {
    static_cast<void>(api::decode_buffer_type(type));
    return NC_NOERR;
  } catch (const Error& error) {
    return error.status();
  }
}

}  // namespace

TEST_CASE("random derived datatypes are packed and unpacked as MPI does it") {
  TypeGenerator generator(test::test_seed());
  const MPI_Datatype bases[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT, MPI_SIGNED_CHAR};
  for (int round = 0; round < 600; ++round) {
    const auto base = bases[round % 4];
    auto owned = generator.draw(base, generator.between(1, 3));
    MPI_Type_commit(&owned.type);
    const auto decoded = api::decode_buffer_type(owned.type);
    const int items = generator.between(0, 3);

    int packed_bytes = 0;
    MPI_Pack_size(items, owned.type, MPI_COMM_SELF, &packed_bytes);
    int size = 0;
    MPI_Type_size(owned.type, &size);
    int base_size = 0;
    MPI_Type_size(base, &base_size);
    REQUIRE(decoded.elements() * base_size == size);

    MPI_Aint true_lower = 0;
    MPI_Aint true_extent = 0;
    MPI_Type_get_true_extent(owned.type, &true_lower, &true_extent);
    const bool is_empty = size == 0 || items == 0;  // then MPI knows no bounds
    const auto reach = is_empty ? 0 : true_lower + true_extent + items * TypeGenerator::extent_of(owned.type);
    std::vector<unsigned char> user(static_cast<std::size_t>(reach) + 64);
    std::iota(user.begin(), user.end(), static_cast<unsigned char>(round));
    std::vector<unsigned char> expected(static_cast<std::size_t>(packed_bytes) + 1);
    int position = 0;
    MPI_Pack(user.data(), items, owned.type, expected.data(), packed_bytes, &position, MPI_COMM_SELF);
    expected.resize(static_cast<std::size_t>(position));

    std::vector<unsigned char> packed(static_cast<std::size_t>(items * size));
    decoded.pack(user.data(), items, packed.data());
    REQUIRE(packed == expected);

    std::vector<unsigned char> restored(user.size(), 0xEE);
    std::vector<unsigned char> restored_by_mpi(user.size(), 0xEE);
    decoded.unpack(packed.data(), items, restored.data());
    position = 0;
    MPI_Unpack(expected.data(), static_cast<int>(expected.size()), &position, restored_by_mpi.data(), items,
               owned.type, MPI_COMM_SELF);
    REQUIRE(restored == restored_by_mpi);
  }
}

TEST_CASE("a derived type that is dense is known to be") {
  Owned row;
  MPI_Type_contiguous(5, MPI_FLOAT, &row.type);
  Owned block;
  MPI_Type_vector(3, 2, 2, row.type, &block.type);
  const auto decoded = api::decode_buffer_type(block.type);
  CHECK(decoded.is_dense());
  CHECK(decoded.elements() == 30);
  CHECK(decoded.element() == Type::float32);
}

TEST_CASE("element types that netCDF does not have are refused, mixed ones too") {
  CHECK(status_of(MPI_LONG_DOUBLE) == NC_EUNSPTETYPE);
  CHECK(status_of(MPI_2INT) == NC_EUNSPTETYPE);
  CHECK(status_of(MPI_PACKED) == NC_EUNSPTETYPE);
  CHECK(status_of(MPI_INT32_T) == NC_EUNSPTETYPE);
  CHECK(api::element_of(MPI_BYTE) == Type::nat);
  CHECK(api::element_of(MPI_INTEGER8) == Type::int64);
  Owned mixed;
  int lengths[] = {1, 1};
  MPI_Aint places[] = {0, 8};
  MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, places, types, &mixed.type);
  CHECK(status_of(mixed.type) == NC_EMULTITYPES);
}

TEST_CASE("imap speaks of the packed elements of a derived type") {
  Owned every_other;
  MPI_Type_vector(2, 1, 2, MPI_INT, &every_other.type);
  std::vector<int> user{1, 2, 3, 4, 5, 6, 7, 8};
  api::ScatteredBuffer buffer{user.data(), api::decode_buffer_type(every_other.type), 2, {2, 2}, {1, 2}};
  std::vector<int> dense(4);
  buffer.gather(dense.data());
  CHECK(dense == std::vector<int>{1, 4, 3, 6});

  const std::vector<int> read{10, 20, 30, 40};
  buffer.scatter(read.data());
  CHECK(user == std::vector<int>{10, 2, 30, 20, 5, 40, 7, 8});
}

TEST_CASE("an imap with gaps leaves the other elements unchanged") {
  Owned every_other;
  MPI_Type_vector(2, 1, 2, MPI_INT, &every_other.type);
  std::vector<int> user{1, 2, 3, 4, 5, 6, 7, 8};
  api::ScatteredBuffer buffer{user.data(), api::decode_buffer_type(every_other.type), 2, {2, 2}, {-5, 9}};
  std::vector<int> dense(4);
  buffer.gather(dense.data());
  CHECK(dense[0] == 1);
  buffer.scatter(dense.data());
  CHECK(user == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8});
}
