#include "process_session.hpp"

#include <mutex>

namespace sluice::api {

namespace {
struct Holder {
  std::mutex mutex;
  std::shared_ptr<runtime::Session> session;
};
}  // namespace

std::shared_ptr<runtime::Session> process_session(const runtime::ClientEnvironment& environment) {
  // One per process by its nature, like the table of ids. Never destroyed: the library does nothing at a
  // program's exit.
  static Holder& holder = *new Holder;
  const std::lock_guard lock(holder.mutex);
  if (holder.session == nullptr || holder.session->is_foreign()) {
    holder.session = std::make_shared<runtime::Session>(environment);
  }
  return holder.session;
}

}  // namespace sluice::api
