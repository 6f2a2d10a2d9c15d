#include "cdl.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "cdl_number.hpp"
#include "cdl_scanner.hpp"
#include "sluice/formats/names.hpp"

namespace sluice::api::cdl {

using namespace formats;

namespace {

constexpr std::int64_t max_classic_length = std::numeric_limits<std::int32_t>::max();

struct TypeWord {
  const char* word;
  Type type;
};
/// ncgen accepts each word in lower and upper case.
constexpr std::array type_words{
    TypeWord{"char", Type::text},     TypeWord{"CHAR", Type::text},      TypeWord{"byte", Type::int8},
    TypeWord{"BYTE", Type::int8},     TypeWord{"short", Type::int16},    TypeWord{"SHORT", Type::int16},
    TypeWord{"int", Type::int32},     TypeWord{"INT", Type::int32},      TypeWord{"integer", Type::int32},
    TypeWord{"INTEGER", Type::int32}, TypeWord{"long", Type::int32},     TypeWord{"LONG", Type::int32},
    TypeWord{"float", Type::float32}, TypeWord{"FLOAT", Type::float32},  TypeWord{"real", Type::float32},
    TypeWord{"REAL", Type::float32},  TypeWord{"double", Type::float64}, TypeWord{"DOUBLE", Type::float64},
    TypeWord{"ubyte", Type::uint8},   TypeWord{"UBYTE", Type::uint8},    TypeWord{"ushort", Type::uint16},
    TypeWord{"USHORT", Type::uint16}, TypeWord{"uint", Type::uint32},    TypeWord{"UINT", Type::uint32},
    TypeWord{"int64", Type::int64},   TypeWord{"INT64", Type::int64},    TypeWord{"uint64", Type::uint64},
    TypeWord{"UINT64", Type::uint64}};

std::optional<Type> type_of_word(std::string_view word) {
  for (const auto& known : type_words) {
    if (word == known.word) return known.type;
  }
  return std::nullopt;
}

bool is_type_word(std::string_view word) {
  return word == "string" || word == "STRING" || type_of_word(word);
}

/// Whether the attribute describes the storage of a file and not its content.
bool is_special_attribute(std::string_view name) {
  static constexpr std::array names{"_Format",       "_Storage",    "_ChunkSizes",        "_DeflateLevel",
                                    "_Shuffle",      "_Endianness", "_Fletcher32",        "_NoFill",
                                    "_NCProperties", "_IsNetcdf4",  "_SuperblockVersion", "_Filter",
                                    "_Codecs"};
  return std::ranges::find(names, name) != names.end();
}

/// The version that a value of _Format names, or 0.
int version_of_format(std::string_view format) {
  if (format == "classic") return 1;
  if (format == "64-bit offset" || format == "64-bit-offset") return 2;
  if (format == "64-bit data" || format == "64-bit-data" || format == "cdf5") return 5;
  return 0;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : scanner_(text, path) {}

  Header parse() {
    if (const auto word = scanner_.expect_word("\"netcdf\""); word.text != "netcdf")
      scanner_.fail(NC_ENOTNC, "a CDL text starts with \"netcdf\"", word);
    scanner_.skip_past('{');
    while (parse_item()) {
    }
    set_version();
    return std::move(header_);
  }

 private:
  using Kind = CdlToken::Kind;
  enum class Section { none, dimensions, variables };

  /// Parses one section title or definition. Returns false at the end of the header.
  bool parse_item() {
    if (scanner_.next().is('}')) return false;
    if (scanner_.next().is(':')) {
      parse_attribute(nullptr, std::nullopt);
      return true;
    }
    const auto word = scanner_.expect_word("a definition or '}'");
    if (scanner_.next().is(':') && word.text == "data") return false;
    if (starts_section(word)) return true;
    if (section_ == Section::dimensions && scanner_.next().is('=')) {
      parse_dimensions(word);
    } else if (scanner_.next().is(':') && !is_type_word(word.text)) {
      parse_attribute(&word, std::nullopt);
    } else {
      parse_typed(word);
    }
    return true;
  }

  bool starts_section(const CdlToken& word) {
    if (!scanner_.next().is(':')) return false;
    if (word.text == "types" || word.text == "group")
      scanner_.fail(NC_ESTRICTNC3, "\"" + word.text + ":\" is netCDF-4's", word);
    const bool is_dimensions = word.text == "dimensions";
    if (!is_dimensions && word.text != "variables") return false;
    section_ = is_dimensions ? Section::dimensions : Section::variables;
    scanner_.expect(':');
    return true;
  }

  void parse_dimensions(CdlToken name) {
    for (;;) {
      scanner_.expect('=');
      add_dimension(name, scanner_.expect_word("the length of the dimension"));
      if (!scanner_.take_if(',')) break;
      name = scanner_.expect_word("the name of a dimension");
    }
    scanner_.expect(';');
  }

  void add_dimension(const CdlToken& name, const CdlToken& length) {
    Dimension dimension;
    dimension.name = checked_name(name);
    dimension.is_record = length.text == "unlimited" || length.text == "UNLIMITED";
    if (!dimension.is_record) {
      const auto number = parse_cdl_number(length.text);
      if (!number) scanner_.fail(NC_ENOTNC, "\"" + length.text + "\" is no length", length);
      constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      const bool is_integer = number->type != Type::float32 && number->type != Type::float64;
      if (!is_integer || number->is_negative || number->is_out_of_range || number->magnitude > limit)
        scanner_.fail(NC_EDIMSIZE, "\"" + length.text + "\" cannot be a dimension's length", length);
      dimension.length = static_cast<std::int64_t>(number->magnitude);
      dimension.is_record = dimension.length == 0;  // NC_UNLIMITED is 0
      if (dimension.length > max_classic_length) needs_cdf5_ = true;
    }
    if (dimension.is_record && header_.record_dimension() >= 0)
      scanner_.fail(NC_EUNLIMIT, "there is a record dimension already", name);
    if (header_.find_dimension(dimension.name) >= 0)
      scanner_.fail(NC_ENAMEINUSE, "dimension \"" + name.text + "\" is defined twice", name);
    header_.add_dimension(std::move(dimension));
  }

  /// Parses the text after a type: variables, or an attribute of that type.
  void parse_typed(const CdlToken& word) {
    if (word.text == "string" || word.text == "STRING")
      scanner_.fail(NC_ESTRICTNC3, "the type \"string\" is netCDF-4's", word);
    const auto type = type_of_word(word.text);
    if (!type) scanner_.fail(NC_EBADTYPE, "\"" + word.text + "\" is no type", word);
    if (scanner_.next().is(':')) return parse_attribute(nullptr, type);
    auto name = scanner_.expect_word("the name of a variable");
    if (scanner_.next().is(':')) return parse_attribute(&name, type);
    if (section_ != Section::variables) scanner_.fail(NC_ENOTNC, "\"variables:\" is missing", word);
    for (;;) {
      add_variable(name, *type);
      if (!scanner_.take_if(',')) break;
      name = scanner_.expect_word("the name of a variable");
    }
    scanner_.expect(';');
  }

  void add_variable(const CdlToken& name, Type type) {
    Variable variable;
    variable.name = checked_name(name);
    variable.type = type;
    if (needs_cdf5(type)) needs_cdf5_ = true;
    if (header_.find_variable(variable.name) >= 0)
      scanner_.fail(NC_ENAMEINUSE, "variable \"" + name.text + "\" is defined twice", name);
    if (scanner_.take_if('(') && !scanner_.take_if(')')) {
      do {
        variable.dimids.push_back(dimension_id(variable.dimids.empty()));
      } while (scanner_.take_if(','));
      scanner_.expect(')');
    }
    header_.add_variable(std::move(variable));
  }

  int dimension_id(bool is_first) {
    const auto name = scanner_.expect_word("the name of a dimension");
    const int id = header_.find_dimension(normalised_name(name.text));
    if (id < 0) scanner_.fail(NC_EBADDIM, "there is no dimension \"" + name.text + "\"", name);
    if (header_.dimension(id).is_record && !is_first)
      scanner_.fail(NC_EUNLIMPOS, "the record dimension can only be a variable's first", name);
    return id;
  }

  /// `owner`: the variable's name; null for a global attribute.
  void parse_attribute(const CdlToken* owner, std::optional<Type> type) {
    int varid = -1;
    if (owner != nullptr) {
      varid = header_.find_variable(normalised_name(owner->text));
      if (varid < 0) scanner_.fail(NC_ENOTVAR, "there is no variable \"" + owner->text + "\"", *owner);
    }
    scanner_.expect(':');
    const auto name = scanner_.expect_word("the name of an attribute");
    Attribute attribute;
    attribute.name = checked_name(name);
    if (attribute.name == "_FillValue" && varid >= 0 && !type) type = header_.variable(varid).type;
    scanner_.expect('=');
    parse_values(attribute, type, name);
    scanner_.expect(';');
    if (is_special_attribute(attribute.name)) return note_special(attribute);
    if (needs_cdf5(attribute.type)) needs_cdf5_ = true;
    auto& attributes = varid < 0 ? header_.attributes : header_.variable(varid).attributes;
    attributes.put(std::move(attribute));
  }

  void parse_values(Attribute& attribute, std::optional<Type> type, const CdlToken& name) {
    std::vector<CdlNumber> numbers;
    Type common = Type::nat;
    bool has_text = false;
    do {
      const auto token = scanner_.take();
      if (token.kind == Kind::string) {
        has_text = true;
        const auto* const bytes = reinterpret_cast<const std::byte*>(token.text.data());
        attribute.values.insert(attribute.values.end(), bytes, bytes + token.text.size());
      } else {
        numbers.push_back(number_of(token));
        common = common_cdl_type(common, numbers.back().type);
      }
    } while (scanner_.take_if(','));
    attribute.type = type.value_or(has_text ? Type::text : common);
    const bool has_characters_only = attribute.type == Type::text && !has_text && all_characters_;
    all_characters_ = true;
    if (has_text ? attribute.type != Type::text || !numbers.empty()
                 : attribute.type == Type::text && !has_characters_only)
      scanner_.fail(NC_ECHAR, "attribute \"" + name.text + "\" mixes text and numbers", name);
    const Type stored = has_characters_only ? Type::int8 : attribute.type;
    for (const auto& number : numbers) {
      if (!append_cdl_value(number, stored, attribute.values))
        scanner_.fail(NC_ERANGE, "a value of attribute \"" + name.text + "\" does not fit its type", name);
    }
    attribute.count = static_cast<std::int64_t>(attribute.values.size() / size_of(attribute.type));
  }

  /// The number of a token. 'a' is a byte, as in ncgen.
  CdlNumber number_of(const CdlToken& token) {
    if (token.kind == Kind::character) {
      CdlNumber number;
      // NOLINTNEXTLINE(bugprone-signed-char-misuse): bytes from 128 are negative numbers
      const int value = static_cast<signed char>(token.text[0]);
      number.type = Type::int8;
      number.is_negative = value < 0;
      number.magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
      return number;
    }
    all_characters_ = false;
    const auto number = token.is_word() ? parse_cdl_number(token.text) : std::nullopt;
    if (!number) scanner_.fail(NC_ENOTNC, "a value is missing", token);
    return *number;
  }

  void note_special(const Attribute& attribute) {
    if (attribute.name != "_Format" || attribute.type != Type::text) return;
    format_ =
        version_of_format({reinterpret_cast<const char*>(attribute.values.data()), attribute.values.size()});
  }

  void set_version() {
    const int said = format_ != 0 ? format_ : scanner_.version();
    const int needed = needs_cdf5_ ? 5 : 1;
    header_.version = static_cast<Version>(said != 0 ? said : needed);
  }

  std::string checked_name(const CdlToken& name) const {
    if (const int status = check_name(name.text); status != NC_NOERR)
      scanner_.fail(static_cast<Status>(status), "\"" + name.text + "\" cannot be a name", name);
    return normalised_name(name.text);
  }

  CdlScanner scanner_;
  Header header_;
  Section section_ = Section::none;
  bool needs_cdf5_ = false;
  bool all_characters_ = true;  ///< for the current attribute: all values are in single quotes
  int format_ = 0;              ///< the version in _Format
};

}  // namespace

Header parse_cdl(std::string_view text, const std::string& path) {
  return Parser(text, path).parse();
}

}  // namespace sluice::api::cdl
