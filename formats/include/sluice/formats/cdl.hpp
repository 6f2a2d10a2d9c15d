#pragma once
#include <string>
#include <string_view>

#include "sluice/formats/header.hpp"

namespace sluice::formats {

/// The header that a text in CDL, the language of ncdump and ncgen, describes: dimensions, variables and
/// attributes of the classic model. What follows "data:" is not read. `path` is for messages.
///
/// The version is what a comment "file format: CDF-n" or the attribute _Format says, else the smallest that
/// can hold the header. Attributes with which ncdump shows how a file is stored (_Format, _Storage, …) are
/// none of the header's.
///
/// Throws FormatError with the place of the mistake: NC_ENOTNC for what is no CDL, NC_ESTRICTNC3 for
/// netCDF-4's types and groups, and the code that the definition itself would give (NC_EBADDIM,
/// NC_ENAMEINUSE, …).
[[nodiscard]] Header parse_cdl(std::string_view text, const std::string& path);

}  // namespace sluice::formats
