// Converts the arguments of a Fortran call to those of the C interface and back. Each class is a temporary of
// one call. The constructor converts; the destructor at the end of the full expression returns results to the
// caller.
#pragma once

#include <mpi.h>
#include <pnetcdf.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::fortran {

/// The number of dimensions of a Fortran variable id. Returns 0 if the variable does not exist; the C
/// function then rejects the id.
inline std::size_t dimensions_of(int ncid, int fortran_varid) {
  int dimensions = 0;
  ncmpi_inq_varndims(ncid, fortran_varid - 1, &dimensions);
  return static_cast<std::size_t>(dimensions);
}

/// A string argument without its padding blanks.
class TextIn {
 public:
  TextIn(const char* text, std::size_t length)
      : text_(text, std::string_view(text, length).find_last_not_of(' ') + 1) {}
  operator const char*() const { return text_.c_str(); }

 private:
  std::string text_;
};

/// A string result, padded with blanks or cut to the caller's length. It is blank if the call fails.
class TextOut {
 public:
  TextOut(char* text, std::size_t length) : text_(text), length_(length), buffer_(PATH_MAX + 1, '\0') {}
  TextOut(const TextOut&) = delete;
  TextOut& operator=(const TextOut&) = delete;
  ~TextOut() { assign(text_, length_, buffer_.data()); }
  operator char*() { return buffer_.data(); }

  static void assign(char* text, std::size_t length, std::string_view value) {
    const std::size_t copied = std::min(length, value.size());
    std::copy_n(value.data(), copied, text);
    std::fill(text + copied, text + length, ' ');
  }

 private:
  char* text_;
  std::size_t length_;
  std::vector<char> buffer_;
};

/// A dimension, variable or attribute id as result. Fortran counts from 1; -1 (no record dimension) is
/// unchanged. The result is not written if the call fails.
class IdOut {
 public:
  explicit IdOut(int* id) : id_(id) {}
  IdOut(const IdOut&) = delete;
  IdOut& operator=(const IdOut&) = delete;
  ~IdOut() {
    if (value_ != unset) *id_ = value_ < 0 ? value_ : value_ + 1;
  }
  operator int*() { return &value_; }

 private:
  static constexpr int unset = INT_MIN;
  int* id_;
  int value_ = unset;
};

/// Dimension ids for a definition. The fastest dimension comes first in Fortran and last in C.
class DimensionIdsIn {
 public:
  DimensionIdsIn(const int* ids, int count) : ids_(static_cast<std::size_t>(std::max(count, 1))) {
    for (int i = 0; i < count; ++i) ids_[static_cast<std::size_t>(count - 1 - i)] = ids[i] - 1;
  }
  operator const int*() const { return ids_.data(); }

 private:
  std::vector<int> ids_;
};

/// Dimension ids of a variable as results.
class DimensionIdsOut {
 public:
  DimensionIdsOut(int* ids, int ncid, int varid) : ids_(ids), values_(dimensions_of(ncid, varid) + 1) {}
  DimensionIdsOut(const DimensionIdsOut&) = delete;
  DimensionIdsOut& operator=(const DimensionIdsOut&) = delete;
  ~DimensionIdsOut() {
    const std::size_t count = values_.size() - 1;
    for (std::size_t i = 0; i < count; ++i) ids_[i] = values_[count - 1 - i] + 1;
  }
  operator int*() { return values_.data(); }

 private:
  int* ids_;
  std::vector<int> values_;  // one more than needed, for variables without dimensions
};

/// An info object as result.
class InfoOut {
 public:
  explicit InfoOut(MPI_Fint* info) : info_(info) {}
  InfoOut(const InfoOut&) = delete;
  InfoOut& operator=(const InfoOut&) = delete;
  ~InfoOut() { *info_ = MPI_Info_c2f(value_); }
  operator MPI_Info*() { return &value_; }

 private:
  MPI_Fint* info_;
  MPI_Info value_ = MPI_INFO_NULL;
};

/// A start, count, stride or imap. The order of the dimensions is reversed, and starts count from 0. A null
/// pointer stays null.
class Reversed {
 public:
  Reversed(const MPI_Offset* values, int ncid, int varid, MPI_Offset first = 0) {
    if (values == nullptr) return;
    values_.resize(dimensions_of(ncid, varid) + 1);
    const std::size_t count = values_.size() - 1;
    for (std::size_t i = 0; i < count; ++i) values_[i] = values[count - 1 - i] - first;
  }
  operator const MPI_Offset*() const { return values_.empty() ? nullptr : values_.data(); }

 private:
  std::vector<MPI_Offset> values_;  // one more than needed, for variables without dimensions
};

/// The starts or counts of a list of blocks, with one column for each block. A null pointer (no counts) stays
/// null.
class ReversedList {
 public:
  ReversedList(const MPI_Offset* values, int ncid, int varid, int blocks, MPI_Offset first = 0) {
    if (values == nullptr) return;
    const std::size_t dimensions = dimensions_of(ncid, varid);
    for (int i = 0; i < blocks; ++i, values += dimensions) blocks_.emplace_back(values, ncid, varid, first);
    for (const Reversed& block : blocks_)
      pointers_.push_back(const_cast<MPI_Offset*>(static_cast<const MPI_Offset*>(block)));
    is_present_ = true;
    if (pointers_.empty()) pointers_.push_back(nullptr);
  }
  operator MPI_Offset* const*() const { return is_present_ ? pointers_.data() : nullptr; }

 private:
  bool is_present_ = false;
  std::vector<Reversed> blocks_;
  std::vector<MPI_Offset*> pointers_;
};

}  // namespace sluice::fortran
