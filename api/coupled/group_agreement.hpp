#pragma once
#include <cstdint>
#include <memory>

#include "mpi_handles.hpp"
#include "sluice/runtime/group_control.hpp"

namespace sluice::api {

/// Lets the processes that write a step agree on the time of collective puts and on the number of records.
/// All processes of the group call the collective functions in the same order. All functions throw Error.
class GroupAgreement {
 public:
  virtual ~GroupAgreement() = default;

  /// Collective, in a collective put: returns the time of its requests, later than every earlier put. `now`:
  /// this process's clock, beyond all times that it has used.
  [[nodiscard]] virtual std::uint64_t enter_put(std::uint64_t now) = 0;
  /// Collective, around a collective get. The get sees all earlier puts of all processes, and the next
  /// collective put does not change the data that it reads. Returns the same as sync().
  [[nodiscard]] virtual std::uint64_t enter_get(std::uint64_t now) = 0;
  virtual void leave_get() noexcept = 0;
  /// Collective: returns the number of records that is known without a wait, at least `local`.
  [[nodiscard]] virtual std::int64_t agree_record_count(std::int64_t local) = 0;
  /// Whether record_count() would wait for the other processes.
  [[nodiscard]] virtual bool waits_for_record_count() const noexcept { return false; }
  /// Not collective: the number of records that all processes have agreed on.
  [[nodiscard]] virtual std::int64_t record_count(std::int64_t local) = 0;
  /// Whether the matcher has asked for reports of puts (GroupControl::take_awaited()).
  [[nodiscard]] virtual bool take_awaited() noexcept { return false; }
  /// Collective: returns when all processes have called it. The returned time is not before any earlier put,
  /// and later puts must have later times, because the clocks of different nodes are independent.
  [[nodiscard]] virtual std::uint64_t sync(std::uint64_t now) = 0;
  /// Ends the participation of this process. Returns the number of records that it knows.
  virtual std::int64_t leave(std::int64_t local) noexcept = 0;
};

/// Agreement of a group within one node: uses its control block, without MPI, and usually without a wait.
class AgreementInMemory final : public GroupAgreement {
 public:
  explicit AgreementInMemory(runtime::GroupControl control) : control_(std::move(control)) {}
  [[nodiscard]] std::uint64_t enter_put(std::uint64_t now) override;
  [[nodiscard]] std::uint64_t enter_get(std::uint64_t now) override;
  void leave_get() noexcept override { control_.enter_collective_call(); }
  [[nodiscard]] std::int64_t agree_record_count(std::int64_t local) override;
  [[nodiscard]] bool waits_for_record_count() const noexcept override { return !is_count_agreed_; }
  [[nodiscard]] std::int64_t record_count(std::int64_t local) override;
  [[nodiscard]] bool take_awaited() noexcept override { return control_.take_awaited(); }
  [[nodiscard]] std::uint64_t sync(std::uint64_t now) override;
  std::int64_t leave(std::int64_t local) noexcept override;

 private:
  runtime::GroupControl control_;
  /// False: collective calls were made after the last read of the other processes' record counts.
  bool is_count_agreed_ = true;
  bool is_being_read_ = false;  ///< other processes may still be in the last collective get
};

/// Agreement of a group on several nodes: uses MPI.
class AgreementByMpi final : public GroupAgreement {
 public:
  explicit AgreementByMpi(const Communicator& comm) : comm_(comm) {}
  [[nodiscard]] std::uint64_t enter_put(std::uint64_t now) override;
  [[nodiscard]] std::uint64_t enter_get(std::uint64_t now) override { return sync(now); }
  void leave_get() noexcept override {}  // the next collective put waits for all processes
  [[nodiscard]] std::int64_t agree_record_count(std::int64_t local) override;
  [[nodiscard]] std::int64_t record_count(std::int64_t local) override { return local; }
  [[nodiscard]] std::uint64_t sync(std::uint64_t now) override;
  std::int64_t leave(std::int64_t local) noexcept override { return local; }

 private:
  const Communicator& comm_;
};

}  // namespace sluice::api
