#pragma once
#include <string>
#include <vector>

#include "sluice/workflows/workflow.hpp"

namespace sluice::workflows {

/// The findings of a check of a workflow file: mistakes, which make the file unusable, and warnings.
class Findings {
 public:
  void mistake(Position position, std::string text) { mistakes_.push_back({position, std::move(text)}); }
  void warning(Position position, std::string text) { warnings_.push_back({position, std::move(text)}); }
  [[nodiscard]] bool has_mistakes() const noexcept { return !mistakes_.empty(); }
  /// Both return their findings in the order of the file.
  [[nodiscard]] std::vector<Mistake> take_mistakes();
  [[nodiscard]] std::vector<Mistake> take_warnings();

 private:
  std::vector<Mistake> mistakes_;
  std::vector<Mistake> warnings_;
};

}  // namespace sluice::workflows
