#pragma once
#include <cstdint>
#include <vector>

namespace sluice::api {

/// The buffer that a user attaches for bput (ncmpi_buffer_attach). Only its space is counted: each copy is a
/// separate allocation. As in PnetCDF, space is taken from the front. A part becomes free when all parts
/// behind it are free.
class AttachedBuffer {
 public:
  /// Throws Error: NC_ENULLBUF unless bytes > 0, NC_EPREVATTACHBUF.
  void attach(std::int64_t bytes);
  /// Throws Error: NC_ENULLABUF, NC_EPENDINGBPUT.
  void detach();

  [[nodiscard]] bool is_attached() const noexcept { return size_ > 0; }
  /// Both return bytes, and throw Error(NC_ENULLABUF).
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] std::int64_t usage() const;

  /// Reserves space for one request and returns its slot. Throws Error: NC_ENULLABUF, NC_EINSUFFBUF.
  int reserve(std::int64_t bytes);
  void release(int slot) noexcept;

 private:
  struct Slot {
    std::int64_t bytes = 0;
    bool is_used = true;
  };
  std::vector<Slot> slots_;
  std::int64_t size_ = 0;
  std::int64_t used_ = 0;
};

}  // namespace sluice::api
