#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

#include "sluice/formats/status.hpp"

namespace sluice {

/// Sluice's exceptions: a message with the cause, the place and the remedy, and the NC_* status for the C
/// boundary.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& what) : std::runtime_error(what), status_(status) {}
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// A failed system call: its errno and the path or other object. The text is "cannot ACTION PATH: REASON".
class IoError : public Error {
 public:
  IoError(Status status, int error_number, std::string path, const std::string& action);
  [[nodiscard]] int error_number() const noexcept { return error_number_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  int error_number_;
  std::string path_;
};

/// A file, header or log that violates its format: the path and the byte of the violation.
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
