#pragma once
#include <list>

#include "hopeless_waits.hpp"
#include "opens.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// After a change, continues waits that can continue, and fails waits that can never end.
class Progress {
 public:
  explicit Progress(RegistryParts& parts) : parts_(parts) {}

  /// Call after a change that may end any wait, or make any wait hopeless.
  void advance();
  /// Call after a change of one dataset, which may also have freed memory.
  void advance_on(const DatasetKey& key);
  /// Call when the file has been published or given up.
  void advance_behind(const WrittenFile& file);
  /// Call after a change that may have freed memory.
  void advance_memory();
  /// Call after a change that ends no wait: a process has begun to wait, or has ended.
  void fail_hopeless();
  /// Several requests come together: memory is settled, and hopeless waits are looked for, once behind them.
  void put_off() noexcept { is_put_off_ = true; }
  void catch_up();

 private:
  bool settle(const GroupTable::Event& event);
  void settle_groups(std::list<Group*>& queue, bool (*is_meant)(const Group&));
  void settle_all();
  void settle_memory();

  RegistryParts& parts_;
  bool is_put_off_ = false;
  bool is_memory_due_ = false, is_look_due_ = false;  ///< what was put off
};

}  // namespace sluice::matcher
