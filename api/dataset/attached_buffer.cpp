#include "attached_buffer.hpp"

#include "sluice/formats/error.hpp"

namespace sluice::api {

namespace {

void require_attached(bool is_attached) {
  if (!is_attached) throw Error(NC_ENULLABUF, "no buffer is attached: call ncmpi_buffer_attach first");
}

}  // namespace

void AttachedBuffer::attach(std::int64_t bytes) {
  if (bytes <= 0) throw Error(NC_ENULLBUF, "the size of the buffer to attach must be positive");
  if (is_attached()) throw Error(NC_EPREVATTACHBUF, "a buffer is already attached: detach it first");
  size_ = bytes;
}

void AttachedBuffer::detach() {
  require_attached(is_attached());
  if (!slots_.empty())
    throw Error(NC_EPENDINGBPUT, "the attached buffer holds pending bput requests: wait for them first");
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
  if (bytes > size_ - used_) throw Error(NC_EINSUFFBUF, "the attached buffer has no space for this bput");
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
