#include "sluice/formats/file_end.hpp"

#include <algorithm>

#include "sluice/formats/error.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {
namespace {

/// The bytes in a file of one variable, or of one record of it.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t number = FileEnd::nothing;
};

/// The fixed-size variables (record -1) or the variables of a record, in their order. `number`: the number of
/// the first shared one.
std::vector<Piece> pieces_of(const FileDescription& file, std::span<const Share> shares, std::int64_t record,
                             std::int64_t number) {
  std::vector<Piece> pieces;
  for (int id = 0; id < file.header.variable_count(); ++id) {
    const auto share = shares[static_cast<std::size_t>(id)];
    if (file.header.is_record_variable(id) != (record >= 0) || share == Share::in_nobody) continue;
    const std::int64_t bytes = data_bytes(file.header, id);
    Piece piece;
    if (share == Share::in_all) piece.number = number++;
    std::int64_t skipped = 0;
    if (__builtin_mul_overflow(std::max<std::int64_t>(record, 0), file.layout.record_size, &skipped))
      throw Error(NC_EVARSIZE, "records lie beyond 2^63 - 1 bytes");
    piece.begin = checked_sum(file.header.variable(id).begin, skipped);
    piece.end = checked_sum(piece.begin, bytes);
    if (bytes > 0) pieces.push_back(piece);
  }
  return pieces;
}

std::int64_t end_of(const std::vector<Piece>& pieces) {
  std::int64_t end = 0;
  for (const auto& piece : pieces) end = std::max(end, piece.end);
  return end;
}

std::int64_t count_shared(const FileDescription& file, std::span<const Share> shares, bool in_records) {
  std::int64_t count = 0;
  for (int id = 0; id < file.header.variable_count(); ++id) {
    if (file.header.is_record_variable(id) == in_records &&
        shares[static_cast<std::size_t>(id)] == Share::in_all)
      ++count;
  }
  return count;
}

void look_at(const std::vector<Piece>& pieces, FileEnd& end) {
  for (const auto& piece : pieces) {
    if (piece.end <= end.file_bytes) continue;
    end.first_missing = std::min(end.first_missing, piece.number);
    end.is_within = end.is_within || piece.begin < end.file_bytes;
  }
}

}  // namespace

std::int64_t end_of_data(const FileDescription& file, std::int64_t records, std::span<const Share> shares) {
  const std::int64_t fixed = end_of(pieces_of(file, shares, -1, 0));
  return records == 0 ? fixed : std::max(fixed, end_of(pieces_of(file, shares, records - 1, 0)));
}

FileEnd find_end(const FileDescription& file, std::int64_t records, std::span<const Share> shares,
                 std::int64_t file_bytes) {
  FileEnd end;
  end.file_bytes = file_bytes;
  end.data_bytes = end_of_data(file, records, shares);
  end.has_shared = std::find(shares.begin(), shares.end(), Share::in_all) != shares.end();
  look_at(pieces_of(file, shares, -1, 0), end);
  if (records == 0 || file.layout.record_size == 0) return end;
  const std::int64_t fixed = count_shared(file, shares, false);
  const std::int64_t each = count_shared(file, shares, true);
  // The record in which the file ends, and the next one, which is missing completely.
  const std::int64_t behind = std::max<std::int64_t>(0, file_bytes - file.layout.record_begin);
  const std::int64_t last = std::min(behind / file.layout.record_size, records - 1);
  for (std::int64_t record = last; record < std::min(last + 2, records); ++record)
    look_at(pieces_of(file, shares, record, fixed + record * each), end);
  return end;
}

void check_ends(std::span<const FileEnd> ends, std::span<const std::string> paths) {
  std::int64_t most = 0;
  for (const auto& end : ends) {
    if (end.has_shared) most = std::max(most, end.first_missing);
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto& end = ends[i];
    const bool lacks = end.has_shared && end.first_missing < most;
    if (!end.is_within && !lacks) continue;
    const auto bytes = std::to_string(end.data_bytes);
    throw FormatError(NC_ETRUNC, paths[i], static_cast<std::uint64_t>(end.file_bytes),
                      "the file ends here, but its data ends at byte " + bytes +
                          ": the file was cut short, or its writer was stopped. Restore a complete copy. If "
                          "zeros are acceptable for the missing data, run truncate -s " +
                          bytes + " " + paths[i]);
  }
}

}  // namespace sluice::formats
