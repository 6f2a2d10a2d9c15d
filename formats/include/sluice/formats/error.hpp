#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

#include "sluice/formats/status.hpp"

namespace sluice {

/// What Sluice throws: a message that says what was wrong, where and what to do, and the NC_* status for the
/// C boundary.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& what) : std::runtime_error(what), status_(status) {}
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// A system call that failed: errno and the path (or other object) that it was about.
class IoError : public Error {
 public:
  IoError(Status status, int error_number, std::string path, const std::string& action);
  [[nodiscard]] int error_number() const noexcept { return error_number_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  int error_number_;
  std::string path_;
};

/// A file, header or log that is not what its format says: the path and the byte at which that was found.
class FormatError : public Error {
 public:
  FormatError(Status status, std::string path, std::uint64_t offset_bytes, const std::string& what);
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t offset_bytes() const noexcept { return offset_bytes_; }

 private:
  std::string path_;
  std::uint64_t offset_bytes_;
};

}  // namespace sluice
