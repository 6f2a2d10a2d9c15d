#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "byte_cursor.hpp"
#include "cdf_constants.hpp"
#include "sluice/formats/attribute_view.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/formats/names.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {

namespace {

/// Decodes one header. Both the codes and the order of the checks are PnetCDF's.
class Decoder {
 public:
  Decoder(std::span<const std::byte> prefix, std::int64_t file_size_bytes, std::string_view path,
          ByteOrder order = ByteOrder::big)
      : in_(prefix, file_size_bytes, path, order), file_size_bytes_(file_size_bytes) {}

  /// `taker` may be null.
  DecodedHeader decode_file(Detail detail, AttributeTaker* taker) {
    detail_ = detail;
    taker_ = taker;
    take_header();
    check_record_section();
    check_sizes();
    check_offsets();
    if (header_.version != Version::cdf5 && header_.record_count == streaming)
      header_.record_count = records_in_file();
    return {std::move(header_), in_.offset()};
  }

  Header decode_metadata() {
    take_header();
    check_sizes();
    return std::move(header_);
  }

 private:
  /// Decodes the header except sizes and file offsets.
  void take_header() {
    take_magic();
    take_record_count();
    take_dimensions();
    take_attributes(header_.attributes);
    if (taker_ != nullptr && !taker_->begin_variables(header_)) taker_ = nullptr;
    take_variables();
    check_shapes();
  }

  /// The value that CDF-1 and CDF-2 store if the writer did not know the number of records: the file's size
  /// then determines the number.
  static constexpr std::int64_t streaming = 0xffff'ffff;

  void take_magic() {
    // PnetCDF needs 8 bytes to distinguish formats.
    if (file_size_bytes_ >= 0 && file_size_bytes_ < 8) {
      in_.fail_at(file_size_bytes_, NC_EFILE, "the file is empty or too short for any header");
    }
    constexpr std::array<std::uint8_t, 4> hdf5{0x89, 'H', 'D', 'F'};
    const auto bytes = in_.take(4);
    if (std::equal(hdf5.begin(), hdf5.end(), bytes.begin(),
                   [](std::uint8_t a, std::byte b) { return a == std::to_integer<std::uint8_t>(b); })) {
      in_.fail_at(0, NC_ENOTBUILT,
                  "this is an HDF5 (netCDF-4) file, and only the classic formats CDF-1, CDF-2 and CDF-5 are "
                  "supported");
    }
    if (!std::equal(cdf::magic.begin(), cdf::magic.end(), bytes.begin())) {
      in_.fail_at(0, NC_ENOTNC, "this is not a netCDF file: it does not start with \"CDF\"");
    }
    const auto version = std::to_integer<int>(bytes[3]);
    if (version != 1 && version != 2 && version != 5) {
      in_.fail_at(3, NC_ENOTNC, "format CDF-" + std::to_string(version) + " is unknown");
    }
    header_.version = static_cast<Version>(version);
  }

  /// Reads a count, length or id. A CDF-5 value that is negative as a signed number stays negative.
  std::int64_t take_count() {
    return static_cast<std::int64_t>(in_.take_integer(cdf::count_bytes(header_.version)));
  }

  void take_record_count() {
    header_.record_count = take_count();
    if (header_.record_count < 0) in_.fail_at(4, NC_ENOTNC, "the number of records is negative");
  }

  std::int64_t take_list_head(std::uint32_t tag, Status too_many, const char* what) {
    const auto at = in_.offset();
    const auto found = static_cast<std::uint32_t>(in_.take_integer(4));
    const auto count = take_count();
    if (count < 0 || count > cdf::max_count) in_.fail_at(at, too_many, std::string("too many ") + what);
    if (count > 0 && found != tag)
      in_.fail_at(at, NC_ENOTNC, std::string("the list of ") + what + " does not start with its tag");
    return count;
  }

  std::string take_name() { return std::string(take_name_in_place()); }

  std::string_view take_name_in_place() {
    const auto at = in_.offset();
    const auto length = take_count();
    if (length < 0 || length > static_cast<std::int64_t>(max_name_bytes)) {
      in_.fail_at(at, NC_EMAXNAME, "a name is longer than " + std::to_string(max_name_bytes) + " bytes");
    }
    const auto bytes = in_.take(cdf::padded(length));
    return name_in_file({reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length)});
  }

  Type take_type() {
    const auto at = in_.offset();
    const auto value = in_.take_integer(4);
    const auto type = value < type_count ? static_cast<Type>(value) : Type::nat;
    if (!is_valid(type) || (needs_cdf5(type) && header_.version != Version::cdf5)) {
      in_.fail_at(at, NC_EBADTYPE, "type " + std::to_string(value) + " is none of this format");
    }
    return type;
  }

  void take_dimensions() {
    const auto count = take_list_head(cdf::tag_dimensions, NC_EMAXDIMS, "dimensions");
    for (std::int64_t i = 0; i < count; ++i) {
      Dimension dimension;
      dimension.name = take_name();
      const auto at = in_.offset();
      dimension.length = take_count();
      dimension.is_record = dimension.length == 0;
      if (dimension.length < 0)
        in_.fail_at(at, NC_EDIMSIZE, "dimension " + dimension.name + " has a negative length");
      if (dimension.is_record && header_.record_dimension() >= 0) {
        in_.fail_at(at, NC_EUNLIMIT, "dimension " + dimension.name + " is a second record dimension");
      }
      header_.add_dimension(std::move(dimension));
    }
  }

  void take_attributes(Attributes& attributes) {
    const auto count = take_list_head(cdf::tag_attributes, NC_EMAXATTS, "attributes");
    for (std::int64_t i = 0; i < count; ++i) attributes.append(decoded(take_attribute()));
  }

  void take_attributes_of(Variable& variable) {
    const auto count = take_list_head(cdf::tag_attributes, NC_EMAXATTS, "attributes");
    for (std::int64_t i = 0; i < count; ++i) {
      const auto attribute = take_attribute();
      const bool is_taken = taker_ != nullptr && taker_->take(attribute);
      if (!is_taken && detail_ == Detail::all) variable.attributes.append(decoded(attribute));
    }
    if (taker_ != nullptr) taker_->end_variable(header_, variable);
  }

  /// Reads an attribute in the representation of the header.
  AttributeView take_attribute() {
    AttributeView attribute;
    attribute.name = take_name_in_place();
    attribute.type = take_type();
    attribute.order = in_.order();
    const auto at = in_.offset();
    attribute.count = take_count();
    if (attribute.count < 0 || attribute.count > cdf::max_count) {
      in_.fail_at(
          at, NC_ENOTNC,
          "attribute " + std::string(attribute.name) + " has a negative or far too large number of values");
    }
    const auto bytes = attribute.count * static_cast<std::int64_t>(size_of(attribute.type));
    attribute.values = in_.take(cdf::padded(bytes)).first(static_cast<std::size_t>(bytes));
    return attribute;
  }

  [[nodiscard]] static Attribute decoded(const AttributeView& encoded) {
    Attribute attribute{std::string(encoded.name), encoded.type, encoded.count, {}};
    attribute.values.resize(encoded.values.size());
    copy_ordered(attribute.values.data(), encoded.values.data(), size_of(encoded.type), encoded.count,
                 encoded.order);
    return attribute;
  }

  void take_variables() {
    const auto count = take_list_head(cdf::tag_variables, NC_EMAXVARS, "variables");
    for (std::int64_t i = 0; i < count; ++i) take_variable();
  }

  void take_variable() {
    Variable variable;
    variable.name = take_name();
    take_dimension_ids(variable);
    take_attributes_of(variable);
    variable.type = take_type();
    take_count();  // vsize is redundant with type and dimensions, and some writers store a wrong one
    const auto begin = in_.take_integer(cdf::offset_bytes(header_.version));
    variable.begin = static_cast<std::int64_t>(begin);
    header_.add_variable(std::move(variable));
  }

  void take_dimension_ids(Variable& variable) {
    const auto at = in_.offset();
    const auto count = take_count();
    if (count < 0 || count > cdf::max_count)
      in_.fail_at(at, NC_EMAXDIMS, "variable " + variable.name + " has too many dimensions");
    for (std::int64_t i = 0; i < count; ++i) {
      const auto id_at = in_.offset();
      const auto id = take_count();
      if (id < 0 || id >= header_.dimension_count()) {
        in_.fail_at(id_at, NC_EBADDIM, "variable " + variable.name + " has a dimension that is not defined");
      }
      variable.dimids.push_back(static_cast<int>(id));
    }
  }

  /// Runs a check that knows only the header, and adds the header's position to its message.
  template <class Check>
  void check(const Check& check) {
    try {
      check();
    } catch (const Error& error) {
      in_.fail(error.status(), error.what());
    }
  }

  void check_shapes() {
    for (int id = 0; id < header_.variable_count(); ++id) {
      auto& variable = header_.variable(id);
      for (std::size_t d = 1; d < variable.dimids.size(); ++d) {
        if (header_.dimension(variable.dimids[d]).is_record) {
          in_.fail(NC_EUNLIMPOS, "the record dimension is not the first one of variable " + variable.name);
        }
      }
      check([&] { variable.vsize = rounded_up(data_bytes(header_, id), 4); });
    }
  }

  void check_sizes() {
    check([this] { check_variable_sizes(header_.version, extents_of(header_)); });
  }

  /// Ids of the fixed-size variables, or of the record variables, in order.
  [[nodiscard]] std::vector<int> section(bool records) const {
    std::vector<int> ids;
    for (int id = 0; id < header_.variable_count(); ++id) {
      if (header_.is_record_variable(id) == records) ids.push_back(id);
    }
    return ids;
  }

  [[noreturn]] void fail_overlap(int id) const {
    in_.fail(NC_ENOTNC, "the data of variable " + header_.variable(id).name +
                            " starts inside the header or another variable's data");
  }

  void check_record_section() const {
    const auto fixed = section(false);
    const auto records = section(true);
    if (fixed.empty() || records.empty()) return;
    const auto& last = header_.variable(fixed.back());
    std::int64_t end = 0;
    const bool overflows = __builtin_add_overflow(last.begin, last.vsize, &end);
    if (overflows || header_.variable(records.front()).begin < end) fail_overlap(records.front());
  }

  /// Checks that data starts after the header, and that the variables of each section follow each other in
  /// the order of their ids.
  void check_offsets() const {
    auto free_from = in_.offset();
    for (const bool records : {false, true}) {
      for (const int id : section(records)) {
        const auto& variable = header_.variable(id);
        const bool overlaps = variable.begin < free_from;
        if (overlaps || __builtin_add_overflow(variable.begin, variable.vsize, &free_from)) fail_overlap(id);
      }
    }
  }

  [[nodiscard]] std::int64_t records_in_file() const {
    const auto layout = layout_of(header_, in_.offset());
    if (file_size_bytes_ <= layout.record_begin || layout.record_size == 0) return 0;
    return (file_size_bytes_ - layout.record_begin) / layout.record_size;
  }

  ByteCursor in_;
  std::int64_t file_size_bytes_;
  Detail detail_ = Detail::all;
  AttributeTaker* taker_ = nullptr;
  Header header_;
};

}  // namespace

std::optional<DecodedHeader> decode_header(std::span<const std::byte> prefix, bool is_whole_file,
                                           std::int64_t file_size_bytes, std::string_view path, Detail detail,
                                           AttributeTaker* taker) {
  const auto size_bytes = is_whole_file ? static_cast<std::int64_t>(prefix.size()) : file_size_bytes;
  try {
    return Decoder(prefix, size_bytes, path).decode_file(detail, taker);
  } catch (const EndOfPrefix&) {
    return std::nullopt;
  }
}

Header decode_metadata(std::span<const std::byte> bytes, std::string_view path, ByteOrder order) {
  return Decoder(bytes, static_cast<std::int64_t>(bytes.size()), path, order).decode_metadata();
}

std::optional<ByteOrder> byte_order_of(std::span<const std::byte> cdf5_header) noexcept {
  constexpr std::size_t tag_offset = 12;  // after the magic and the number of records
  if (cdf5_header.size() < tag_offset + 4) return std::nullopt;
  const auto tag = static_cast<std::byte>(cdf::tag_dimensions);
  if (cdf5_header[tag_offset] == tag) return ByteOrder::little;
  if (cdf5_header[tag_offset + 3] == tag) return ByteOrder::big;
  return std::nullopt;
}

}  // namespace sluice::formats
