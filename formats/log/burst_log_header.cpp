// The header of metadata logs.
#include <algorithm>
#include <cstring>

#include "burst_log_fields.hpp"
#include "sluice/formats/burst_log.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::formats {
namespace {

constexpr std::size_t fixed_bytes = 64;  // up to the first name
constexpr std::size_t magic_bytes = 8;
constexpr std::size_t longest_name = 1 << 16;
constexpr std::string_view step_magic = "SluiceWF";
constexpr std::size_t step_bytes = 24;  // including the magic
constexpr std::string_view identity_magic = "SluiceID";
constexpr std::size_t identity_bytes = 32;  // including the magic
constexpr std::string_view base_magic = "SluiceBS";
constexpr std::size_t base_bytes = 24;  // including the magic

std::size_t padded(std::size_t size, std::size_t unit) noexcept {
  return (size + unit - 1) / unit * unit;
}

void append_name(const std::string& name, std::vector<std::byte>& bytes) {
  if (name.empty() || name.size() > longest_name)
    throw Error(NC_EBAD_FILE,
                "a name of " + std::to_string(name.size()) + " bytes cannot be in a burst-buffer log");
  BurstFieldWriter(bytes).put_int32(static_cast<std::int32_t>(name.size()));
  const auto text = std::as_bytes(std::span(name));
  bytes.insert(bytes.end(), text.begin(), text.end());
  bytes.resize(padded(bytes.size(), 4));
}

/// Thrown and caught in this file: the prefix ends inside the header.
struct MoreBytes {};

/// Decodes a header. Damage is a FormatError with the byte of the damage.
class HeaderDecoder {
 public:
  HeaderDecoder(std::span<const std::byte> prefix, std::int64_t file_size_bytes,
                std::string_view path) noexcept
      : prefix_(prefix), file_size_bytes_(file_size_bytes), path_(path) {}

  BurstLogHeader decode();

 private:
  [[noreturn]] void fail(Status status, std::size_t offset, const std::string& what) const {
    throw FormatError(status, std::string(path_), offset, what);
  }

  std::span<const std::byte> bytes(std::size_t offset, std::size_t n) const {
    if (n <= prefix_.size() && offset <= prefix_.size() - n) return prefix_.subspan(offset, n);
    if (static_cast<std::int64_t>(prefix_.size()) < file_size_bytes_) throw MoreBytes{};
    fail(NC_ETRUNC, prefix_.size(), "the file ends inside the header of a metadata log");
  }
  std::int64_t int64_at(std::size_t offset) const {
    return BurstFields(bytes(offset, 8), header_.is_big_endian).take_int64();
  }
  std::int32_t int32_at(std::size_t offset) const {
    return BurstFields(bytes(offset, 4), header_.is_big_endian).take_int32();
  }
  bool is_zero(std::size_t offset) const { return bytes(offset, 1)[0] == std::byte{0}; }

  void check_magic() const;
  void take_format();
  bool flag_at(std::size_t offset, const char* name) const;
  std::string name_at(std::size_t offset, std::size_t length_bytes = 4) const;
  std::optional<std::size_t> own_blocks_at(std::size_t path_end) const;
  bool has_block(std::size_t at, std::string_view magic, std::size_t size) const;
  void take_own_blocks(std::size_t path_end);
  bool has_long_path_length() const;
  bool has_layout_of_pnetcdf(std::size_t processor_at) const;
  void take_places_of_pnetcdf(std::size_t names_end, std::size_t path_at);
  bool is_begin_left_by_pnetcdf(std::int64_t found, std::int64_t begin, std::size_t path_at) const;
  void check_places(std::size_t names_end) const;

  std::span<const std::byte> prefix_;
  std::int64_t file_size_bytes_;
  std::string_view path_;
  BurstLogHeader header_;
};

void HeaderDecoder::check_magic() const {
  const auto magic = std::as_bytes(std::span(burst_log_magic));
  const auto found = bytes(0, magic_bytes);
  const auto version = std::to_integer<char>(found.back());
  if (std::memcmp(found.data(), magic.data(), magic_bytes - 1) != 0 || version < '0' || version > '9')
    fail(NC_EFILE, 0, "this is not the metadata log of a burst buffer: it does not begin with \"PnetCDF0\"");
}

void HeaderDecoder::take_format() {
  const auto format = bytes(8, 8);
  if (std::memcmp(format.data(), "CDF", 3) != 0)
    fail(NC_ENOTBUILT, 8, "a log of a file that is not in a CDF format; only those are known here");
  const auto digit = std::to_integer<char>(format[3]);
  if (digit < '0' || digit > '9') fail(NC_EFILE, 11, "not a version of the CDF format");
  header_.cdf_version = digit - '0';
}

bool HeaderDecoder::flag_at(std::size_t offset, const char* name) const {
  const auto value = int32_at(offset);
  if (value != 0 && value != 1)
    fail(NC_EFILE, offset, std::string(name) + " is " + std::to_string(value) + ", neither TRUE nor FALSE");
  return value == 1;
}

std::string HeaderDecoder::name_at(std::size_t offset, std::size_t length_bytes) const {
  const std::int64_t length = length_bytes == 8 ? int64_at(offset) : int32_at(offset);
  if (length <= 0 || length > static_cast<std::int64_t>(longest_name))
    fail(NC_EFILE, offset, "a name of " + std::to_string(length) + " bytes");
  const auto text = bytes(offset + length_bytes, static_cast<std::size_t>(length));
  std::string name(reinterpret_cast<const char*>(text.data()), text.size());
  if (name.find('\0') != std::string::npos)
    fail(NC_EFILE, offset + length_bytes, "a name with a zero byte in it");
  return name;
}

/// Whether the path's length has 8 bytes, as in PnetCDF 1.13 and later; earlier versions use 4. Neither a
/// path nor its length is all zeros.
bool HeaderDecoder::has_long_path_length() const {
  const auto upper = bytes(header_.is_big_endian ? fixed_bytes : fixed_bytes + 4, 4);
  return std::ranges::all_of(upper, [](std::byte byte) { return byte == std::byte{0}; });
}

/// The position of Sluice's blocks after the names, in Sluice's own layout.
std::optional<std::size_t> HeaderDecoder::own_blocks_at(std::size_t path_end) const {
  const auto processor_at = padded(path_end, 4);
  const auto length = int32_at(processor_at);
  if (length <= 0 || static_cast<std::size_t>(length) > longest_name) return std::nullopt;
  return padded(processor_at + 4 + static_cast<std::size_t>(length), 8);
}

bool HeaderDecoder::has_block(std::size_t at, std::string_view magic, std::size_t size) const {
  if (header_.entry_begin < static_cast<std::int64_t>(at + size) || header_.entry_begin > file_size_bytes_)
    return false;
  return std::memcmp(bytes(at, magic.size()).data(), magic.data(), magic.size()) == 0;
}

void HeaderDecoder::take_own_blocks(std::size_t path_end) {
  auto at = own_blocks_at(path_end);
  if (!at) return;
  if (has_block(*at, step_magic, step_bytes)) {
    header_.step = BurstLogStep{int64_at(*at + 8), int64_at(*at + 16)};
    *at += step_bytes;
  }
  if (has_block(*at, identity_magic, identity_bytes)) {
    header_.identity = BurstLogIdentity{static_cast<std::uint64_t>(int64_at(*at + 8)), int64_at(*at + 16),
                                        static_cast<std::uint64_t>(int64_at(*at + 24))};
    *at += identity_bytes;
  }
  if (header_.step && has_block(*at, base_magic, base_bytes)) {
    header_.step->base = int64_at(*at + 8);
    if (header_.step->base != ~int64_at(*at + 16) || header_.step->base >= header_.step->step)
      fail(NC_EFILE, *at, "the number of the step that this log continues contradicts itself");
  }
}

/// Whether the names have PnetCDF's layout: a zero byte ends a name, without padding. `processor_at`: the
/// position of the second name's length in that layout.
bool HeaderDecoder::has_layout_of_pnetcdf(std::size_t processor_at) const {
  if (header_.is_external || !is_zero(processor_at - 1)) return false;
  const auto length = int32_at(processor_at);
  if (length <= 0 || static_cast<std::size_t>(length) > longest_name) return false;
  const auto end = processor_at + 4 + static_cast<std::size_t>(length);
  return is_zero(end) && std::memchr(bytes(processor_at + 4, static_cast<std::size_t>(length)).data(), 0,
                                     static_cast<std::size_t>(length)) == nullptr;
}

/// Whether entry_begin has the value that PnetCDF leaves before it overwrites the field with a number of
/// entries. PnetCDF writes max_ndims up to 8 bytes before the first name's length and one byte off, so
/// max_ndims may reach into entry_begin.
bool HeaderDecoder::is_begin_left_by_pnetcdf(std::int64_t found, std::int64_t begin,
                                             std::size_t path_at) const {
  if (found == begin || found == 0) return true;
  if (!header_.is_big_endian) return false;
  const int kept_bits = path_at == fixed_bytes + 4 ? 40 : 8;
  const auto kept = (std::int64_t{1} << kept_bits) - 1;
  constexpr std::int64_t most_dimensions = 1024;
  return (found & kept) == (begin & kept) && found >> kept_bits <= most_dimensions;
}

/// Reads the fields at PnetCDF's positions. PnetCDF writes the number of entries to a wrong place: over
/// entry_begin. After a redefinition, it writes max_ndims at byte 51 (55 from version 1.13 on), into
/// num_entries, which is otherwise 0. `path_at`: the position of the path.
void HeaderDecoder::take_places_of_pnetcdf(std::size_t names_end, std::size_t path_at) {
  // The compiler's padding, which PnetCDF counts as part of the struct.
  const std::size_t struct_bytes = path_at == fixed_bytes + 4 ? 4 : 8;
  const auto begin = static_cast<std::int64_t>(padded(names_end + struct_bytes + 1, 16));
  const auto overwritten = header_.entry_begin;
  if (header_.entry_count % (1 << 24) != 0) return;
  header_.entry_begin = begin;
  const bool is_empty = file_size_bytes_ <= begin && is_begin_left_by_pnetcdf(overwritten, begin, path_at);
  header_.entry_count = is_empty ? 0 : overwritten;
}

void HeaderDecoder::check_places(std::size_t names_end) const {
  if (header_.process_count < 1 || header_.rank < 0 || header_.rank >= header_.process_count)
    fail(NC_EFILE, 24,
         "rank " + std::to_string(header_.rank) + " of " + std::to_string(header_.process_count) +
             " processes");
  if (header_.entry_count < 0)
    fail(NC_EFILE, burst_entry_count_offset, std::to_string(header_.entry_count) + " entries");
  if (header_.entry_begin < static_cast<std::int64_t>(names_end) || header_.entry_begin > file_size_bytes_)
    fail(NC_EFILE, 56, "the first entry cannot be at byte " + std::to_string(header_.entry_begin));
}

BurstLogHeader HeaderDecoder::decode() {
  check_magic();
  take_format();
  // Only one of the two byte orders makes the first field a valid flag.
  header_.is_big_endian = bytes(16, 4)[0] == std::byte{0} && bytes(16, 4)[3] == std::byte{1};
  if (flag_at(16, "big_endian") != header_.is_big_endian)
    fail(NC_EFILE, 16, "big_endian is TRUE in a little-endian log");
  header_.is_external = flag_at(20, "is_external");
  header_.process_count = int64_at(24);
  header_.rank = int64_at(32);
  header_.max_dimensions = int64_at(burst_max_dimensions_offset);
  header_.entry_count = int64_at(burst_entry_count_offset);
  header_.entry_begin = int64_at(56);
  const std::size_t length_bytes = has_long_path_length() ? 8 : 4;
  header_.path = name_at(fixed_bytes, length_bytes);
  const auto path_at = fixed_bytes + length_bytes;
  const auto path_end = path_at + header_.path.size();
  take_own_blocks(path_end);
  const bool is_own = header_.step || header_.identity;
  const bool is_of_pnetcdf = !is_own && has_layout_of_pnetcdf(path_end + 1);
  const auto processor_at = is_of_pnetcdf ? path_end + 1 : padded(path_end, 4);
  header_.processor = name_at(processor_at);
  const auto names_end = processor_at + 4 + header_.processor.size();
  if (is_of_pnetcdf) take_places_of_pnetcdf(names_end, path_at);
  check_places(names_end);
  return std::move(header_);
}

}  // namespace

std::vector<std::byte> encode_burst_log_header(BurstLogHeader& header) {
  std::vector<std::byte> bytes;
  const auto magic = std::as_bytes(std::span(burst_log_magic));
  bytes.assign(magic.begin(), magic.end());
  const std::string format{'C', 'D', 'F', static_cast<char>('0' + header.cdf_version), 0, 0, 0, 0};
  const auto format_bytes = std::as_bytes(std::span(format));
  bytes.insert(bytes.end(), format_bytes.begin(), format_bytes.end());
  BurstFieldWriter fields(bytes);
  fields.put_int32(header.is_big_endian ? 1 : 0);
  fields.put_int32(header.is_external ? 1 : 0);
  const auto names_bytes = 4 + padded(header.path.size(), 4) + 4 + padded(header.processor.size(), 4);
  const bool has_base = header.step && header.step->base != 0;
  // Alignment of the header aligns the numbers of the entries.
  const auto names_end = padded(fixed_bytes + names_bytes, 8);
  header.entry_begin =
      static_cast<std::int64_t>(names_end + (header.step ? step_bytes : 0) +
                                (header.identity ? identity_bytes : 0) + (has_base ? base_bytes : 0));
  for (const auto value :
       {header.process_count, header.rank, header.max_dimensions, header.entry_count, header.entry_begin})
    fields.put_int64(value);
  append_name(header.path, bytes);
  append_name(header.processor, bytes);
  bytes.resize(names_end);
  const auto begin_block = [&](std::string_view magic) {
    const auto name = std::as_bytes(std::span(magic));
    bytes.insert(bytes.end(), name.begin(), name.end());
  };
  if (header.step) {
    begin_block(step_magic);
    fields.put_int64(header.step->step);
    fields.put_int64(header.step->origin);
  }
  if (header.identity) {
    begin_block(identity_magic);
    fields.put_int64(static_cast<std::int64_t>(header.identity->run));
    fields.put_int64(header.identity->created_ns);
    fields.put_int64(static_cast<std::int64_t>(header.identity->group));
  }
  if (has_base) {
    begin_block(base_magic);
    fields.put_int64(header.step->base);
    fields.put_int64(~header.step->base);  // a damaged number would leave out steps
  }
  return bytes;
}

std::optional<BurstLogHeader> decode_burst_log_header(std::span<const std::byte> prefix,
                                                      std::int64_t file_size_bytes, std::string_view path) {
  try {
    return HeaderDecoder(prefix, file_size_bytes, path).decode();
  } catch (const MoreBytes&) {
    return std::nullopt;
  }
}

}  // namespace sluice::formats
