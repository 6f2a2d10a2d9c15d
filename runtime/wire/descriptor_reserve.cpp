#include "sluice/runtime/descriptor_reserve.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

[[noreturn]] void fail_used_up() {
  rlimit limit{};
  const bool is_known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  throw Error(NC_ENFILE, "this process has reached its limit of open files" +
                             (is_known ? " (" + std::to_string(limit.rlim_cur) + ")" : std::string()) +
                             ", and a memory segment briefly needs one more. Close some files, or raise the "
                             "limit (ulimit -n), and call again");
}

}  // namespace

DescriptorReserve::DescriptorReserve(std::size_t wanted, int model) : model_(model) {
  kept_.reserve(wanted);
  while (kept_.size() < wanted) {
    if (!take_one()) fail_used_up();
  }
}

bool DescriptorReserve::release_one() noexcept {
  if (kept_.empty()) return false;
  kept_.pop_back();
  return true;
}

bool DescriptorReserve::take_one() noexcept {
  FileDescriptor descriptor(::fcntl(model_, F_DUPFD_CLOEXEC, 0));
  if (!descriptor) return false;
  kept_.push_back(std::move(descriptor));
  return true;
}

}  // namespace sluice::runtime
