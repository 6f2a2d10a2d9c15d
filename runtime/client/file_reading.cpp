#include "sluice/runtime/file_reading.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace sluice::runtime {

bool is_read_as_file(const ClientRule& rule) noexcept {
  return rule.reads && !rule.writes && matcher::covers_c_library(rule.through);
}

bool is_read_as_file(const RuleMatch& match) {
  if (!is_read_as_file(match.rule)) return false;
  struct stat facts {};
  return !match.is_on_disk || ::stat(match.file.c_str(), &facts) != 0 || S_ISREG(facts.st_mode);
}

bool is_written_as_file(const ClientRule& rule) noexcept {
  return rule.writes && matcher::covers_c_library(rule.through);
}

int error_number_of(const Error& error) noexcept {
  switch (error.status()) {
    case NC_ENOENT:
      return ENOENT;
    case NC_ENFILE:
      return EMFILE;
    case NC_ENOMEM:
      return ENOMEM;
    case NC_ENO_SPACE:
      return ENOSPC;
    case NC_EPERM:
      return EACCES;
    case NC_EACCESS:  // of a sticky directory
      return EPERM;
    case NC_EEXIST:
      return EEXIST;
    case NC_EINVAL:
      return EINVAL;
    default:
      return EIO;
  }
}

Status status_of_error_number(int error_number) noexcept {
  switch (error_number) {
    case EMFILE:
    case ENFILE:
      return NC_ENFILE;
    case ENOENT:
    case ENOTDIR:
      return NC_ENOENT;
    case EEXIST:
      return NC_EEXIST;
    case EACCES:
    case EPERM:
    case EROFS:
      return NC_EPERM;
    case ENOSPC:
    case EDQUOT:
      return NC_ENO_SPACE;
    default:
      return NC_EIO;
  }
}

}  // namespace sluice::runtime
