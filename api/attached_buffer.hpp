#pragma once
#include <cstdint>
#include <vector>

namespace sluice::api {

/// The buffer that a user attaches for bput (ncmpi_buffer_attach). Only its accounting: each copy is an
/// allocation of its own. As in PnetCDF, room is handed out from the front and comes back when everything
/// behind it has come back.
class AttachedBuffer {
 public:
  /// Throws Error: NC_ENULLBUF unless bytes > 0, NC_EPREVATTACHBUF.
  void attach(std::int64_t bytes);
  /// Throws Error: NC_ENULLABUF, NC_EPENDINGBPUT.
  void detach();

  [[nodiscard]] bool is_attached() const noexcept { return size_ > 0; }
  /// Both throw Error(NC_ENULLABUF). Bytes.
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] std::int64_t usage() const;

  /// Reserves room for one request and returns its slot. Throws Error: NC_ENULLABUF, NC_EINSUFFBUF.
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
