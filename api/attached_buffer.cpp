#include "attached_buffer.hpp"

#include "sluice/formats/error.hpp"

namespace sluice::api {

namespace {

void require_attached(bool is_attached) {
  if (!is_attached) throw Error(NC_ENULLABUF, "No buffer is attached: call ncmpi_buffer_attach first.");
}

}  // namespace

void AttachedBuffer::attach(std::int64_t bytes) {
  if (bytes <= 0) throw Error(NC_ENULLBUF, "The size of the buffer to attach must be positive.");
  if (is_attached()) throw Error(NC_EPREVATTACHBUF, "A buffer is attached already: detach it first.");
  size_ = bytes;
}

void AttachedBuffer::detach() {
  require_attached(is_attached());
  if (!slots_.empty())
    throw Error(NC_EPENDINGBPUT, "The attached buffer holds pending bput requests: wait for them first.");
  size_ = 0;
}

std::int64_t AttachedBuffer::size() const {
  require_attached(is_attached());
  return size_;
}

std::int64_t AttachedBuffer::usage() const {
  require_attached(is_attached());
  return used_;
}

int AttachedBuffer::reserve(std::int64_t bytes) {
  require_attached(is_attached());
  if (bytes > size_ - used_) throw Error(NC_EINSUFFBUF, "The attached buffer has no room for this bput.");
  slots_.push_back({bytes, true});
  used_ += bytes;
  return static_cast<int>(slots_.size()) - 1;
}

void AttachedBuffer::release(int slot) noexcept {
  slots_[static_cast<std::size_t>(slot)].is_used = false;
  while (!slots_.empty() && !slots_.back().is_used) {
    used_ -= slots_.back().bytes;
    slots_.pop_back();
  }
}

}  // namespace sluice::api
