#pragma once
#include <memory>

#include "run_setting.hpp"
#include "supervised_process.hpp"

namespace sluice::coordinator {

/// The process that shows published files to programs into which no library can be loaded (exposer.hpp), if a
/// rule has `expose: true`.
class ExposerProcess {
 public:
  /// `setting` outlives this object.
  explicit ExposerProcess(RunSetting& setting) : setting_(setting) {}
  /// Nothing is shown any more after this, before the links are removed.
  ~ExposerProcess() { stop(); }
  ExposerProcess(const ExposerProcess&) = delete;
  ExposerProcess& operator=(const ExposerProcess&) = delete;

  /// `on_end`: it has ended by itself.
  void start(std::function<void()> on_end);
  void stop() noexcept;
  void reap();

 private:
  RunSetting& setting_;
  std::unique_ptr<SupervisedProcess> process_;
};

}  // namespace sluice::coordinator
