#pragma once
#include <cstdint>
#include <memory>

#include "mpi_handles.hpp"
#include "sluice/runtime/group_control.hpp"

namespace sluice::api {

/// How the processes that write a step agree on the time of collective puts and on the number of records.
/// What is collective is called by all of the group, in the same order. All functions throw Error.
class GroupAgreement {
 public:
  virtual ~GroupAgreement() = default;

  /// Collective, at a collective put: the time of its requests, later than that of every put before it.
  /// `now`: this process's clock, beyond all times that it has used.
  [[nodiscard]] virtual std::uint64_t enter_put(std::uint64_t now) = 0;
  /// Collective, around a collective get: what all have put before is there, and is not changed by the
  /// collective put behind. Gives what sync() gives.
  [[nodiscard]] virtual std::uint64_t enter_get(std::uint64_t now) = 0;
  virtual void leave_get() noexcept = 0;
  /// Collective: gives what is known of the number of records without a wait, at least `local`.
  [[nodiscard]] virtual std::int64_t agree_record_count(std::int64_t local) = 0;
  /// Whether record_count() would wait for the others.
  [[nodiscard]] virtual bool waits_for_record_count() const noexcept { return false; }
  /// Not collective: the number of records that all have agreed on.
  [[nodiscard]] virtual std::int64_t record_count(std::int64_t local) = 0;
  /// Whether the matcher wants to hear of what was put (GroupControl::take_awaited()).
  [[nodiscard]] virtual bool take_awaited() noexcept { return false; }
  /// Collective: all have come so far. Gives a time that is not before that of any put so far, beyond which
  /// later ones have to be: the clocks of several nodes have nothing to do with one another.
  [[nodiscard]] virtual std::uint64_t sync(std::uint64_t now) = 0;
  /// This process takes part no more. Gives the number of records that it knows of.
  virtual std::int64_t leave(std::int64_t local) noexcept = 0;
};

/// Of a group within one node: by its control block, without MPI, and as a rule without waiting.
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
  bool is_count_agreed_ =
      true;  ///< false: collective calls were made since the others' record counts were looked at
  bool is_being_read_ = false;  ///< others may still be in the last collective get
};

/// Of a group on several nodes: by MPI.
class AgreementByMpi final : public GroupAgreement {
 public:
  explicit AgreementByMpi(const Communicator& comm) : comm_(comm) {}
  [[nodiscard]] std::uint64_t enter_put(std::uint64_t now) override;
  [[nodiscard]] std::uint64_t enter_get(std::uint64_t now) override { return sync(now); }
  void leave_get() noexcept override {}  // the next collective put waits for all
  [[nodiscard]] std::int64_t agree_record_count(std::int64_t local) override;
  [[nodiscard]] std::int64_t record_count(std::int64_t local) override { return local; }
  [[nodiscard]] std::uint64_t sync(std::uint64_t now) override;
  std::int64_t leave(std::int64_t local) noexcept override { return local; }

 private:
  const Communicator& comm_;
};

}  // namespace sluice::api
