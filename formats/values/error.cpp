#include "sluice/formats/error.hpp"

#include <system_error>
#include <utility>

namespace sluice {

IoError::IoError(Status status, int error_number, std::string path, const std::string& action)
    : Error(status, "cannot " + action + " " + path + ": " + std::generic_category().message(error_number)),
      error_number_(error_number),
      path_(std::move(path)) {}

FormatError::FormatError(Status status, std::string path, std::uint64_t offset_bytes, const std::string& what)
    : Error(status, path + ": at byte " + std::to_string(offset_bytes) + ": " + what),
      path_(std::move(path)),
      offset_bytes_(offset_bytes) {}

}  // namespace sluice
