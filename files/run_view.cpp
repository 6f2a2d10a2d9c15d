#include "run_view.hpp"

#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::files {

/// Throws Error when there is no run to look at.
runtime::Observer& RunView::observer() {
  if (observer_ && identity_of(observer_->descriptor()) == identity_) return *observer_;
  (void)observer_.release();  // its number belongs to the program now
  runtime::PacketSocket socket = hidden_connection(socket_path_);
  identity_ = identity_of(socket.descriptor());
  observer_ = std::make_unique<runtime::Observer>(std::move(socket), socket_path_);
  return *observer_;
}

std::optional<FoundImage> RunView::find(const runtime::RuleMatch& match) {
  const std::lock_guard lock(mutex_);
  runtime::Observer* look = nullptr;
  try {
    look = &observer();
  } catch (const Error& error) {
    if (error.status() == NC_ENFILE) throw;
    return std::nullopt;  // the run has ended
  }
  try {
    runtime::FileImage newest = look->image(match.key, match.file);
    return FoundImage{std::move(newest.file), std::move(newest.made.path)};
  } catch (const Error& error) {
    if (error.status() == NC_ENOENT) return std::nullopt;
    if (look->is_alive()) throw;
    observer_.reset();
    return std::nullopt;
  }
}

void RunView::ask(const runtime::Open& open) {
  const std::lock_guard lock(mutex_);
  try {
    observer().ask(open);
  } catch (const Error&) {
    if (observer_ && !observer_->is_alive()) observer_.reset();
    throw;
  }
}

std::vector<runtime::PublishedFile> RunView::list(const std::string& directory,
                                                  const std::string& component) noexcept {
  return list({directory, false, {}, {}, component});
}

std::vector<runtime::PublishedFile> RunView::list_written(const std::string& directory) noexcept {
  runtime::ListRequest request{directory};
  request.is_written = true;
  return list(request);
}

std::vector<runtime::PublishedFile> RunView::list(const runtime::ListRequest& request) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    return observer().may_have_files(request.directory) ? observer().list(request).files
                                                        : std::vector<runtime::PublishedFile>{};
  } catch (const std::exception&) {
    if (observer_ && !observer_->is_alive()) observer_.reset();
    return {};
  }
}

}  // namespace sluice::files
