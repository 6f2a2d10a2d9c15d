#pragma once
#include <string>
#include <string_view>

#include "sluice/formats/header.hpp"

namespace sluice::api::cdl {

/// Parses a header in CDL, the language of ncdump and ncgen: dimensions, variables and attributes of the
/// classic model. Ignores the text after "data:". `path` is for messages.
///
/// The version comes from a comment "file format: CDF-n" or the attribute _Format; otherwise it is the
/// smallest version that can hold the header. Attributes by which ncdump shows the storage of a file
/// (_Format, _Storage, …) do not become part of the header.
///
/// Throws FormatError with the position of the mistake: NC_ENOTNC if the text is not CDL, NC_ESTRICTNC3 for
/// netCDF-4's types and groups, and otherwise the code that the definition itself would return (NC_EBADDIM,
/// NC_ENAMEINUSE, …).
[[nodiscard]] formats::Header parse_cdl(std::string_view text, const std::string& path);

}  // namespace sluice::api::cdl
