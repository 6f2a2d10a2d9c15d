#include "prepared_access.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "access_error_text.hpp"
#include "checks.hpp"
#include "guard.hpp"
#include "last_error.hpp"
#include "sluice/formats/convert.hpp"

namespace sluice::api {

using formats::Type;

namespace {

constexpr int global_varid = -1;                    // NC_GLOBAL
constexpr MPI_Offset count_of_buffer_ignored = -1;  // NC_COUNT_IGNORE

int check_variable(const formats::Header& header, int varid) noexcept {
  if (varid == global_varid) return NC_EGLOBAL;
  return varid < 0 || varid >= header.variable_count() ? NC_ENOTVAR : NC_NOERR;
}

/// The type and the number of items of a flexible call's buffer, checked against the access.
struct FlexibleBuffer {
  BufferType type;
  std::int64_t items = 0;
};

int resolve_flexible(const AccessCall& call, Type external, std::int64_t elements, FlexibleBuffer& buffer) {
  if (call.buffer_type == MPI_DATATYPE_NULL) {  // "as the variable's own type"
    buffer = {BufferType(external), elements};
    return NC_NOERR;
  }
  const auto predefined = element_of(call.buffer_type);
  const bool is_count_ignored = call.buffer_count == count_of_buffer_ignored;
  if (predefined) {
    buffer = {BufferType(*predefined), is_count_ignored ? elements : call.buffer_count};
  } else {
    buffer = {decode_buffer_type(call.buffer_type), call.buffer_count};
    if (is_count_ignored) return NC_EBADTYPE;
  }
  std::int64_t offered = 0;
  const bool overflows = __builtin_mul_overflow(buffer.items, buffer.type.elements(), &offered);
  if (overflows || offered != elements) return NC_EIOMISMATCH;
  if (elements == 0) return NC_NOERR;
  if (buffer.type.element() == Type::nat) return NC_EBADTYPE;
  return formats::mixes_text(buffer.type.element(), external) ? NC_ECHAR : NC_NOERR;
}

/// Whether imap describes dense row-major order.
bool is_dense_map(std::span<const std::int64_t> count, std::span<const std::int64_t> imap) noexcept {
  std::int64_t expected = 1;
  for (std::size_t d = count.size(); d-- > 0;) {
    if (count[d] != 1 && imap[d] != expected) return false;
    expected *= count[d];
  }
  return true;
}

std::unique_ptr<ScatteredBuffer> describe_scattered(const AccessCall& call, const Selection& selection,
                                                    FlexibleBuffer buffer) {
  std::vector<std::int64_t> count;
  std::vector<std::int64_t> imap;
  if (call.shape == Shape::varm && call.imap != nullptr) {
    const auto slab_count = selection.slabs()[0].count;
    count.assign(slab_count.begin(), slab_count.end());
    imap.assign(call.imap, call.imap + count.size());
    if (is_dense_map(count, imap)) {
      count.clear();
      imap.clear();
    }
  }
  if (imap.empty() && buffer.type.is_dense()) return nullptr;
  return std::make_unique<ScatteredBuffer>(
      ScatteredBuffer{call.buffer, std::move(buffer.type), buffer.items, std::move(count), std::move(imap)});
}

}  // namespace

int check_mode(const Dataset& dataset, const AccessCall& call) noexcept {
  if (is_put(call.verb) && !dataset.is_writable) return NC_EPERM;
  if (!is_blocking(call.verb)) return NC_NOERR;
  if (dataset.in_define_mode) return NC_EINDEFINE;
  if (call.is_collective) return dataset.is_independent ? NC_EINDEP : NC_NOERR;
  return dataset.is_independent ? NC_NOERR : NC_ENOTINDEP;
}

namespace {

/// Checks the user's memory against the selection, and finds the positions of the elements in it.
int describe_buffer(const AccessCall& call, PreparedAccess& prepared, Type external) {
  auto& access = prepared.access;
  prepared.is_long = call.buffer_type == MPI_LONG;
  const bool has_map = call.shape == Shape::varm && call.imap != nullptr;
  if (!call.is_flexible && !has_map) {
    return access.elements > 0 && call.buffer == nullptr ? NC_EINVAL : NC_NOERR;
  }
  FlexibleBuffer buffer{BufferType(access.memory), access.elements};
  if (call.is_flexible) {
    if (const int status = resolve_flexible(call, external, access.elements, buffer); status != NC_NOERR)
      return status;
  }
  if (access.elements == 0) return NC_NOERR;
  access.memory = buffer.type.element();
  prepared.is_long = prepared.is_long || buffer.type.is_long();
  // A derived type may hold absolute addresses; its buffer is then MPI_BOTTOM.
  if (call.buffer == nullptr && buffer.type.is_dense()) return NC_EINVAL;
  prepared.scattered = describe_scattered(call, prepared.selection, std::move(buffer));
  if (prepared.scattered) access.buffer = nullptr;
  return NC_NOERR;
}

int check_and_fill(Dataset& dataset, const AccessCall& call, PreparedAccess& prepared) {
  const auto& header = dataset.header;
  if (const int status = check_variable(header, call.varid); status != NC_NOERR) return status;
  const auto external = header.variable(call.varid).type;
  auto& access = prepared.access;
  if (!call.is_flexible) {
    access.memory = element_of(call.buffer_type).value_or(Type::nat);
    if (formats::mixes_text(access.memory, external)) return NC_ECHAR;
  }
  if (call.verb == Verb::bput && needs_attached_buffer(dataset)) {
    static_cast<void>(dataset.requests.attached.size());  // throws NC_ENULLABUF
  }

  // The selection of a put may lie beyond the record count; only a whole variable has as many records as the
  // dataset.
  const bool needs_record_count = !is_put(call.verb) || call.shape == Shape::var;
  if (needs_record_count && !dataset.in_define_mode && header.is_record_variable(call.varid)) {
    refresh_record_count(dataset);
  }
  auto& selection = prepared.selection;
  KnownLists* const known = dataset.driver && dataset.driver->is_replayed() ? &known_lists() : nullptr;
  const int resolved = selection.resolve(call, header, is_put(call.verb), dataset.start_rule,
                                         &dataset.requests.recent_slabs, known);
  if (resolved != NC_NOERR) return resolved;
  if (const int status = check_record_offsets(dataset, call.varid, selection.record_end());
      status != NC_NOERR)
    return status;
  access.varid = call.varid;
  access.slabs = selection.slabs();
  access.elements = selection.elements();
  access.buffer = call.buffer;
  const bool is_empty_list = call.shape == Shape::varn && call.list_length <= 0;
  if (is_empty_list) return NC_NOERR;
  // Without items, PnetCDF checks neither their type nor the selection, unless other ranks take part.
  const bool has_no_items =
      call.is_flexible && call.buffer_count == 0 && call.buffer_type != MPI_DATATYPE_NULL;
  if (has_no_items && !call.is_collective) {
    access.elements = 0;
    return NC_NOERR;
  }
  // As in PnetCDF, an empty put creates the records that it selects, but only if all ranks take part.
  if (access.elements > 0 || call.is_collective) prepared.record_end = selection.record_end();

  return describe_buffer(call, prepared, external);
}

/// The part of a vard in one variable.
int add_part(const Dataset& dataset, const AccessCall& call, const VariableSlabs& part,
             PreparedAccess& prepared) {
  AccessCall one = call;
  one.varid = part.varid;
  one.list_length = part.slabs.size();
  one.starts = part.slabs.starts();
  one.counts = part.slabs.counts();
  auto& selection = prepared.part_selections.emplace_back();
  if (const int status = selection.resolve(one, dataset.header, is_put(call.verb), dataset.start_rule);
      status != NC_NOERR)
    return status;
  if (const int status = check_record_offsets(dataset, part.varid, selection.record_end());
      status != NC_NOERR)
    return status;
  auto& access = prepared.parts.emplace_back();
  access.varid = part.varid;
  access.slabs = selection.slabs();
  access.elements = selection.elements();
  prepared.record_end = std::max(prepared.record_end, selection.record_end());
  const bool overflows =
      __builtin_add_overflow(prepared.access.elements, access.elements, &prepared.access.elements);
  return overflows ? NC_EINTOVERFLOW : NC_NOERR;
}

int check_and_fill_parts(Dataset& dataset, const AccessCall& call, std::span<const VariableSlabs> parts,
                         PreparedAccess& prepared) {
  const auto& header = dataset.header;
  if (const int status = check_variable(header, call.varid); status != NC_NOERR) return status;
  if (parts.empty()) return NC_NOERR;
  const auto external = header.variable(call.varid).type;
  // Unlike in calls with start and count, this check comes before the amounts are compared.
  if (call.buffer_type != MPI_DATATYPE_NULL) {
    const auto predefined = element_of(call.buffer_type);
    const auto element = predefined ? *predefined : decode_buffer_type(call.buffer_type).element();
    if (formats::mixes_text(element, external)) return NC_ECHAR;
  }
  if (!is_put(call.verb) && header.record_dimension() >= 0) refresh_record_count(dataset);
  prepared.access.varid = call.varid;
  prepared.access.buffer = call.buffer;
  for (const auto& part : parts) {
    if (const int status = add_part(dataset, call, part, prepared); status != NC_NOERR) return status;
  }
  return describe_buffer(call, prepared, external);
}

}  // namespace

std::span<Access> PreparedAccess::accesses() noexcept {
  if (is_empty()) return {};
  if (parts.empty()) return {&access, 1};
  auto* buffer = static_cast<std::byte*>(access.buffer);
  for (auto& part : parts) {
    part.memory = access.memory;
    part.buffer = buffer;
    buffer += static_cast<std::size_t>(part.elements) * formats::size_of(access.memory);
  }
  return parts;
}

int PreparedAccess::status() const noexcept {
  int found = access.status;
  for (const auto& part : parts) {
    // With NC_ERANGE all elements are transferred.
    if (part.status != NC_NOERR && part.status != NC_ERANGE) return part.status;
    if (part.status != NC_NOERR) found = part.status;
  }
  return found;
}

namespace {

/// Runs the checks; set_last_error() gets the cause of a failure.
template <class Check>
int run_checks(const Dataset& dataset, const AccessCall& call, const Check& check) noexcept {
  try {
    const int status = check();
    if (status != NC_NOERR) set_last_error(access_error_text(dataset, call, status));
    return status;
  } catch (...) {
    return current_exception_status();
  }
}

}  // namespace

int prepare(Dataset& dataset, const AccessCall& call, PreparedAccess& prepared) noexcept {
  return run_checks(dataset, call, [&] { return check_and_fill(dataset, call, prepared); });
}

int prepare_parts(Dataset& dataset, const AccessCall& call, std::span<const VariableSlabs> parts,
                  PreparedAccess& prepared) noexcept {
  return run_checks(dataset, call, [&] { return check_and_fill_parts(dataset, call, parts, prepared); });
}

int prepare_row(PreparedAccess& prepared, bool writes, std::unique_ptr<std::byte[]>& row) noexcept {
  auto& access = prepared.access;
  try {
    row = dense_row(access.memory, access.elements);
    if (writes) prepared.scattered->gather(row.get());
  } catch (...) {
    return NC_ENOMEM;
  }
  access.buffer = row.get();
  return NC_NOERR;
}

void fill_longs(std::int64_t* longs, std::int64_t n) noexcept {
  if constexpr (sizeof(long) != sizeof(std::int64_t)) return;
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  formats::default_fill(Type::int64, &wide);
  formats::default_fill(Type::int32, &narrow);
  // No element has the int64 fill value itself. Elements that are not converted fit, and no float or unsigned
  // element has that value.
  std::replace(longs, longs + n, wide, std::int64_t{narrow});
}

std::unique_ptr<std::byte[]> dense_row(Type type, std::int64_t elements) {
  return std::make_unique_for_overwrite<std::byte[]>(formats::size_of(type) *
                                                     static_cast<std::size_t>(elements));
}

}  // namespace sluice::api
