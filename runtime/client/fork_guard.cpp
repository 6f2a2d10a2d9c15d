#include "sluice/runtime/fork_guard.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {
constexpr std::size_t page_bytes = 4096;
}

ForkGuard::ForkGuard() {
  void* const page = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw IoError(NC_ENOMEM, errno, "the fork guard", "map a page for");
  mark_ = static_cast<volatile std::uint64_t*>(page);
  *mark_ = 1;
  if (::madvise(page, page_bytes, MADV_WIPEONFORK) != 0) process_id_ = ::getpid();
}

ForkGuard::~ForkGuard() {
  ::munmap(const_cast<std::uint64_t*>(mark_), page_bytes);
}

bool ForkGuard::is_other_process() const noexcept {
  return ::getpid() != process_id_;
}

}  // namespace sluice::runtime
