#pragma once
#include <mpi.h>

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::runtime {

/// Throws Error(NC_EIO) with MPI's text unless `code` is MPI_SUCCESS. `action`: "send to another matcher".
void check_matcher_mpi(int code, const std::string& action);

/// Current MPI requests, each with the objects that it needs.
template <class Belongings>
class MpiRequests {
 public:
  /// `action`: MPI's action, for error messages.
  explicit MpiRequests(std::string action) : action_(std::move(action)) {}

  struct Done {
    Belongings belongings;
    MPI_Status status;
  };

  void add(MPI_Request request, Belongings belongings) {
    requests_.push_back(request);
    belongings_.push_back(std::move(belongings));
  }
  [[nodiscard]] bool empty() const noexcept { return requests_.empty() && done_.empty(); }

  /// Returns a completed request. Throws Error(NC_EIO).
  [[nodiscard]] std::optional<Done> take() {
    if (done_.empty() && !requests_.empty()) test();
    if (done_.empty()) return std::nullopt;
    Done first = std::move(done_.front());
    done_.pop_front();
    return first;
  }

  /// Cancels all requests.
  void cancel() noexcept {
    for (MPI_Request& request : requests_) {
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
    requests_.clear();
    belongings_.clear();
  }

 private:
  void test() {
    finished_.resize(requests_.size());
    statuses_.resize(requests_.size());
    int count = 0;
    const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                  finished_.data(), statuses_.data());
    for (int i = 0; code == MPI_ERR_IN_STATUS && i < count; ++i)
      check_matcher_mpi(statuses_[static_cast<std::size_t>(i)].MPI_ERROR, action_);
    check_matcher_mpi(code, action_);
    if (count <= 0) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      done_.push_back({std::move(belongings_[static_cast<std::size_t>(finished_[i])]), statuses_[i]});
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      if (kept != i) requests_[kept] = requests_[i], belongings_[kept] = std::move(belongings_[i]);
      ++kept;
    }
    requests_.resize(kept);
    belongings_.erase(belongings_.begin() + static_cast<std::ptrdiff_t>(kept), belongings_.end());
  }

  std::string action_;
  std::vector<MPI_Request> requests_;
  std::vector<Belongings> belongings_;  ///< one for each request
  std::deque<Done> done_;
  std::vector<int> finished_;         ///< scratch
  std::vector<MPI_Status> statuses_;  ///< scratch
};

}  // namespace sluice::runtime
