#include "file_difference.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <sstream>
#include <string_view>

#include "child_process.hpp"
#include "environment.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/netcdf4_file.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::coordinator {
namespace {

using formats::Header;
using Bytes = std::span<const std::byte>;

/// A file that is read piece by piece, not mapped: others may cut it meanwhile.
class ReadFile {
 public:
  explicit ReadFile(const std::filesystem::path& path)
      : file_(storage::PosixFileSystem().open(path.string(), storage::OpenMode::read)),
        size_(file_->size_bytes()) {}

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] std::string name() const { return file_->path(); }
  /// `size` bytes, at most a piece; fewer where the file ends before. Valid until the next call.
  [[nodiscard]] Bytes read(std::int64_t offset, std::int64_t size) const {
    bytes_.resize(static_cast<std::size_t>(size));
    return offset >= size_ ? Bytes() : Bytes(bytes_).first(file_->read(offset, bytes_));
  }

 private:
  std::unique_ptr<storage::File> file_;
  std::int64_t size_ = 0;
  mutable std::vector<std::byte> bytes_;
};

/// A multiple of the size of each element.
constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;

/// A range in each of two files.
struct Ranges {
  std::int64_t first = 0, second = 0, size = 0;
};

/// The first element that differs in two ranges: its place and its bytes, fewer where a file ends.
struct Mismatch {
  std::int64_t at = 0;
  std::vector<std::byte> first, second;
};

/// Nothing where both ranges have the same bytes, or end after the same bytes.
std::optional<Mismatch> mismatch(const ReadFile& first, const ReadFile& second, const Ranges& ranges,
                                 std::int64_t element) {
  for (std::int64_t done = 0; done < ranges.size; done += piece_bytes) {
    const std::int64_t size = std::min(piece_bytes, ranges.size - done);
    const Bytes a = first.read(ranges.first + done, size);
    const Bytes b = second.read(ranges.second + done, size);
    const auto [in_a, in_b] = std::ranges::mismatch(a, b);
    if (in_a == a.end() && in_b == b.end()) {
      if (std::ssize(a) < size) return std::nullopt;
      continue;
    }
    const auto at = (in_a - a.begin()) / element * element;
    const auto rest = [&](Bytes bytes) {
      const auto part = bytes.subspan(std::min(static_cast<std::size_t>(at), bytes.size()));
      const auto count = std::min(part.size(), static_cast<std::size_t>(element));
      return std::vector<std::byte>(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
    };
    return Mismatch{done + at, rest(a), rest(b)};
  }
  return std::nullopt;
}

/// Nothing for a file that is no CDF file.
std::optional<formats::DecodedHeader> header_of(const ReadFile& file) {
  try {
    for (std::int64_t prefix = piece_bytes;; prefix *= 2) {
      const bool is_whole = prefix >= file.size();
      const Bytes bytes = file.read(0, is_whole ? file.size() : prefix);
      if (auto header = formats::decode_header(bytes, is_whole, file.size(), file.name())) return header;
    }
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

template <class Number>
std::string number_text(const std::byte* at) {
  Number number{};
  formats::copy_ordered(&number, at, sizeof number, 1, formats::ByteOrder::big);
  std::ostringstream text;
  text.precision(17);
  if constexpr (sizeof number == 1) {
    text << static_cast<int>(number);
  } else {
    text << number;
  }
  return text.str();
}

std::string element_text(formats::Type type, const std::byte* at) {
  switch (type) {
    case formats::Type::text:
      return std::string("'") + static_cast<char>(*at) + "'";
    case formats::Type::int8:
      return number_text<std::int8_t>(at);
    case formats::Type::uint8:
      return number_text<std::uint8_t>(at);
    case formats::Type::int16:
      return number_text<std::int16_t>(at);
    case formats::Type::uint16:
      return number_text<std::uint16_t>(at);
    case formats::Type::int32:
      return number_text<std::int32_t>(at);
    case formats::Type::uint32:
      return number_text<std::uint32_t>(at);
    case formats::Type::int64:
      return number_text<std::int64_t>(at);
    case formats::Type::uint64:
      return number_text<std::uint64_t>(at);
    case formats::Type::float32:
      return number_text<float>(at);
    default:
      return number_text<double>(at);
  }
}

/// The differing attributes, in words; an attribute `history` goes to `remarks`.
std::optional<std::string> compare_attributes(const formats::Attributes& first,
                                              const formats::Attributes& second, const std::string& of,
                                              std::vector<std::string>& remarks) {
  const auto differs = [&](const std::string& name, const std::string& how) -> std::optional<std::string> {
    const std::string text = "attribute " + of + ":" + name + " " + how;
    if (name != "history") return text;
    remarks.push_back(text);
    return std::nullopt;
  };
  for (const auto& attribute : first) {
    const int found = second.find(attribute.name);
    if (found < 0) {
      if (auto text = differs(attribute.name, "is in the first file only")) return text;
    } else if (second[found].type != attribute.type || second[found].values != attribute.values) {
      if (auto text = differs(attribute.name, "has other values")) return text;
    }
  }
  for (const auto& attribute : second) {
    if (first.find(attribute.name) >= 0) continue;
    if (auto text = differs(attribute.name, "is in the second file only")) return text;
  }
  return std::nullopt;
}

std::optional<std::string> compare_dimensions(const Header& first, const Header& second) {
  if (first.dimension_count() != second.dimension_count())
    return std::to_string(first.dimension_count()) + " and " + std::to_string(second.dimension_count()) +
           " dimensions";
  for (int id = 0; id < first.dimension_count(); ++id) {
    const auto& a = first.dimension(id);
    const auto& b = second.dimension(id);
    if (a.name != b.name) return "dimension " + std::to_string(id) + ": " + a.name + " and " + b.name;
    if (a.length != b.length || a.is_record != b.is_record)
      return "dimension " + a.name + ": " + std::to_string(a.length) + " and " + std::to_string(b.length);
  }
  if (first.record_count != second.record_count)
    return std::to_string(first.record_count) + " and " + std::to_string(second.record_count) + " records";
  return std::nullopt;
}

std::optional<std::string> compare_headers(const Header& first, const Header& second,
                                           std::vector<std::string>& remarks) {
  if (first.version != second.version)
    return "CDF-" + std::to_string(static_cast<int>(first.version)) + " and CDF-" +
           std::to_string(static_cast<int>(second.version));
  if (auto text = compare_dimensions(first, second)) return text;
  if (auto text = compare_attributes(first.attributes, second.attributes, "", remarks)) return text;
  if (first.variable_count() != second.variable_count())
    return std::to_string(first.variable_count()) + " and " + std::to_string(second.variable_count()) +
           " variables";
  for (int id = 0; id < first.variable_count(); ++id) {
    const auto& a = first.variable(id);
    const auto& b = second.variable(id);
    if (a.name != b.name) return "variable " + std::to_string(id) + ": " + a.name + " and " + b.name;
    if (a.type != b.type || a.dimids != b.dimids)
      return "variable " + a.name + " has another type or other dimensions";
    if (auto text = compare_attributes(a.attributes, b.attributes, a.name, remarks)) return text;
  }
  return std::nullopt;
}

/// A variable's elements in a file.
struct StoredVariable {
  const ReadFile& file;
  std::int64_t begin = 0, record_size = 0;

  /// The offset of a record; the file's end where that comes first.
  [[nodiscard]] std::int64_t offset(std::int64_t record) const {
    const std::int64_t room = file.size() - begin;
    if (room <= 0 || (record_size > 0 && record > room / record_size)) return file.size();
    return begin + record * record_size;
  }
};

/// The index of an element from its number in row-major order.
std::vector<std::int64_t> index_of(const std::vector<std::int64_t>& shape, std::int64_t number) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t d = shape.size(); d > 0; --d) {
    index[d - 1] = d == 1 ? number : number % shape[d - 1];
    number /= std::max<std::int64_t>(shape[d - 1], 1);
  }
  return index;
}

FileDifference difference_at(const Header& header, int varid, std::int64_t number,
                             const std::string& values) {
  const auto& variable = header.variable(varid);
  FileDifference difference{"variable " + variable.name, variable.name,
                            index_of(header.shape(varid), number)};
  if (!difference.index.empty()) {
    difference.text += ", element ";
    for (std::size_t d = 0; d < difference.index.size(); ++d)
      difference.text += (d == 0 ? "" : ",") + std::to_string(difference.index[d]);
  }
  difference.text += ": " + values;
  return difference;
}

std::optional<FileDifference> compare_variable(const Header& header, int varid, const StoredVariable& first,
                                               const StoredVariable& second) {
  const auto type = header.variable(varid).type;
  const auto element = static_cast<std::int64_t>(formats::size_of(type));
  const std::int64_t per_record = header.elements_per_record(varid);
  const std::int64_t records = header.is_record_variable(varid) ? header.record_count : 1;
  for (std::int64_t record = 0; record < records; ++record) {
    const Ranges ranges{first.offset(record), second.offset(record), per_record * element};
    if (ranges.first >= first.file.size() && ranges.second >= second.file.size()) break;
    const auto found = mismatch(first.file, second.file, ranges, element);
    if (!found) continue;
    const auto text = [&](const std::vector<std::byte>& bytes) {
      return std::ssize(bytes) == element ? element_text(type, bytes.data())
                                          : std::string("the end of the file");
    };
    return difference_at(header, varid, record * per_record + found->at / element,
                         text(found->first) + " and " + text(found->second));
  }
  return std::nullopt;
}

std::optional<FileDifference> compare_data(const formats::DecodedHeader& first, const ReadFile& first_file,
                                           const formats::DecodedHeader& second,
                                           const ReadFile& second_file) {
  const auto first_layout = formats::layout_of(first.header, first.size_bytes);
  const auto second_layout = formats::layout_of(second.header, second.size_bytes);
  for (int id = 0; id < first.header.variable_count(); ++id) {
    const StoredVariable a{first_file, first.header.variable(id).begin, first_layout.record_size};
    const StoredVariable b{second_file, second.header.variable(id).begin, second_layout.record_size};
    if (auto difference = compare_variable(first.header, id, a, b)) return difference;
  }
  return std::nullopt;
}

/// What sluice-netcdf4 says of two netCDF-4 files: their bytes differ by how they were made. Nothing: it
/// cannot read them, or netCDF has not written them.
std::optional<FileComparison> compare_netcdf4(const ReadFile& first, const ReadFile& second) {
  constexpr std::string_view magic = "\211HDF\r\n\032\n", equal = "equal", different = "different: ";
  for (const ReadFile* const file : {&first, &second}) {
    const Bytes begin = file->read(0, static_cast<std::int64_t>(magic.size()));
    if (std::string_view(reinterpret_cast<const char*>(begin.data()), begin.size()) != magic)
      return std::nullopt;
  }
  ChildOptions child;
  child.program = storage::netcdf4_program();
  child.arguments = {child.program, first.name(), second.name()};
  child.environment = current_environment();
  const std::string said = output_of(std::move(child));
  if (said == equal) return FileComparison{};
  if (!said.starts_with(different)) return std::nullopt;
  return FileComparison{FileDifference{said.substr(different.size()), "", {}}, {}};
}

}  // namespace

FileComparison compare_files(const std::filesystem::path& first, const std::filesystem::path& second) {
  const ReadFile a(first);
  const ReadFile b(second);
  FileComparison comparison;
  const auto found = mismatch(a, b, {0, 0, std::max(a.size(), b.size())}, 1);
  if (!found) return comparison;
  const auto first_header = header_of(a);
  const auto second_header = header_of(b);
  if (!first_header || !second_header) {
    if (auto by_netcdf = compare_netcdf4(a, b)) return *by_netcdf;
    const bool ends = found->first.empty() || found->second.empty();
    comparison.difference =
        FileDifference{ends ? std::to_string(a.size()) + " and " + std::to_string(b.size()) + " bytes"
                            : "byte " + std::to_string(found->at),
                       "",
                       {}};
    return comparison;
  }
  if (auto text = compare_headers(first_header->header, second_header->header, comparison.remarks)) {
    comparison.difference = FileDifference{*text, "", {}};
    return comparison;
  }
  comparison.difference = compare_data(*first_header, a, *second_header, b);
  // Bytes between variables, and lengths of equal attributes, say nothing of what programs read.
  if (!comparison.difference && comparison.remarks.empty())
    comparison.remarks.push_back("bytes that belong to no variable differ");
  return comparison;
}

}  // namespace sluice::coordinator
