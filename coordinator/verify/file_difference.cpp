#include "file_difference.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <sstream>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/file_descriptor.hpp"

namespace sluice::coordinator {
namespace {

using formats::Header;
using Bytes = std::span<const std::byte>;

/// The contents of a file, mapped for reading.
class WholeFile {
 public:
  explicit WholeFile(const std::filesystem::path& path) {
    const storage::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.number(), &status) != 0) throw IoError(NC_EIO, errno, path.string(), "read");
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;
    address_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (address_ == MAP_FAILED) throw IoError(NC_EIO, errno, path.string(), "read");
  }
  ~WholeFile() {
    if (size_ > 0) ::munmap(address_, size_);
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  [[nodiscard]] Bytes bytes() const noexcept { return {static_cast<const std::byte*>(address_), size_}; }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

std::optional<formats::DecodedHeader> header_of(Bytes bytes, const std::filesystem::path& path) {
  try {
    return formats::decode_header(bytes, true, static_cast<std::int64_t>(bytes.size()), path.string());
  } catch (const Error&) {
    return std::nullopt;  // no CDF file
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
  Bytes file;
  std::int64_t begin = 0, record_size = 0;

  /// `size` bytes of record `record`; fewer when the file ends before.
  [[nodiscard]] Bytes record(std::int64_t record, std::int64_t size) const {
    const std::int64_t at = std::min(begin + record * record_size, static_cast<std::int64_t>(file.size()));
    const std::int64_t left = static_cast<std::int64_t>(file.size()) - at;
    return file.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(std::min(size, left)));
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
    const Bytes a = first.record(record, per_record * element);
    const Bytes b = second.record(record, per_record * element);
    if (a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0)) continue;
    const auto [in_a, in_b] = std::ranges::mismatch(a, b);
    const std::int64_t at = (in_a - a.begin()) / element;
    const auto text = [&](Bytes bytes) {
      return (at + 1) * element <= static_cast<std::int64_t>(bytes.size())
                 ? element_text(type, bytes.data() + at * element)
                 : std::string("the end of the file");
    };
    return difference_at(header, varid, record * per_record + at, text(a) + " and " + text(b));
  }
  return std::nullopt;
}

std::optional<FileDifference> compare_data(const formats::DecodedHeader& first, Bytes first_bytes,
                                           const formats::DecodedHeader& second, Bytes second_bytes) {
  const auto first_layout = formats::layout_of(first.header, first.size_bytes);
  const auto second_layout = formats::layout_of(second.header, second.size_bytes);
  for (int id = 0; id < first.header.variable_count(); ++id) {
    const StoredVariable a{first_bytes, first.header.variable(id).begin, first_layout.record_size};
    const StoredVariable b{second_bytes, second.header.variable(id).begin, second_layout.record_size};
    if (auto difference = compare_variable(first.header, id, a, b)) return difference;
  }
  return std::nullopt;
}

FileDifference bytes_difference(Bytes first, Bytes second) {
  const auto [a, b] = std::ranges::mismatch(first, second);
  const auto at = static_cast<std::int64_t>(a - first.begin());
  if (a == first.end() || b == second.end())
    return {std::to_string(first.size()) + " and " + std::to_string(second.size()) + " bytes", "", {}};
  return {"byte " + std::to_string(at), "", {}};
}

}  // namespace

FileComparison compare_files(const std::filesystem::path& first, const std::filesystem::path& second) {
  const WholeFile a(first);
  const WholeFile b(second);
  FileComparison comparison;
  if (std::ranges::equal(a.bytes(), b.bytes())) return comparison;
  const auto first_header = header_of(a.bytes(), first);
  const auto second_header = header_of(b.bytes(), second);
  if (!first_header || !second_header) {
    comparison.difference = bytes_difference(a.bytes(), b.bytes());
    return comparison;
  }
  if (auto text = compare_headers(first_header->header, second_header->header, comparison.remarks)) {
    comparison.difference = FileDifference{*text, "", {}};
    return comparison;
  }
  comparison.difference = compare_data(*first_header, a.bytes(), *second_header, b.bytes());
  // Bytes between variables, and lengths of equal attributes, say nothing of what programs read.
  if (!comparison.difference && comparison.remarks.empty())
    comparison.remarks.push_back("bytes that belong to no variable differ");
  return comparison;
}

}  // namespace sluice::coordinator
