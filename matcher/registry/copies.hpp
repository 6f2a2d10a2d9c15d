#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/run_view.hpp"

namespace sluice::matcher {

/// The large copies that go on in processes, for people who watch the run. This changes no wait.
class Copies {
 public:
  explicit Copies(const std::function<std::uint64_t()>& now_ms) : now_ms_(now_ms) {}

  /// A copy of the process begins or ends. The two messages may come over different connections, so the end
  /// may come first. `file`: the name of the step, as messages show it.
  void note(const Process& process, const CopyNotice& notice, const std::string& file);
  void drop_of(ProcessId process);
  [[nodiscard]] std::vector<CopyStatus> report(const ProcessTable& processes) const;

 private:
  struct Id {
    ProcessId process{};
    std::uint64_t number = 0;
    auto operator<=>(const Id&) const = default;
  };
  struct Copy {
    std::string file;
    bool is_put = false;
    bool is_over = false;  ///< only the end has come
    std::uint64_t since_ms = 0;
  };

  const std::function<std::uint64_t()>& now_ms_;
  std::map<Id, Copy> copies_;
};

}  // namespace sluice::matcher
