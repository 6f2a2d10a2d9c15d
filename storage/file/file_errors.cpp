#include "file_errors.hpp"

#include <cerrno>

#include "sluice/formats/error.hpp"

namespace sluice::storage {

Status status_of_errno(int error_number) noexcept {
  switch (error_number) {
    case ENOENT:
      return NC_ENOENT;
    case EEXIST:
      return NC_EEXIST;
    case EACCES:
      return NC_EACCESS;
    case EROFS:
    case EPERM:
      return NC_EPERM;
    case ENAMETOOLONG:
      return NC_EBAD_FILE;
    default:
      return status_of_errno(error_number, NC_EFILE);
  }
}

Status status_of_errno(int error_number, Status otherwise) noexcept {
  if (error_number == ENOSPC) return NC_ENO_SPACE;
  if (error_number == EDQUOT) return NC_EQUOTA;
  return otherwise;
}

void fail(int error_number, const std::string& path, const std::string& action) {
  throw IoError(status_of_errno(error_number), error_number, path, action);
}

}  // namespace sluice::storage
