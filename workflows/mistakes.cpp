#include "mistakes.hpp"

#include <algorithm>
#include <tuple>

namespace sluice::workflows {
namespace {

std::vector<Mistake> in_file_order(std::vector<Mistake> mistakes) {
  std::stable_sort(mistakes.begin(), mistakes.end(), [](const Mistake& a, const Mistake& b) {
    return std::tie(a.position.line, a.position.column) < std::tie(b.position.line, b.position.column);
  });
  return mistakes;
}

std::string describe(const std::filesystem::path& file, const std::vector<Mistake>& mistakes) {
  std::string text;
  for (const Mistake& mistake : mistakes) {
    if (!text.empty()) text += '\n';
    text += mistake.describe(file);
  }
  return text;
}

}  // namespace

std::string Mistake::describe(const std::filesystem::path& file) const {
  return file.string() + ':' + std::to_string(position.line) + ':' + std::to_string(position.column) + ": " +
         text;
}

std::vector<Mistake> Findings::take_mistakes() {
  return in_file_order(std::move(mistakes_));
}

std::vector<Mistake> Findings::take_warnings() {
  return in_file_order(std::move(warnings_));
}

WorkflowError::WorkflowError(const std::filesystem::path& file, std::vector<Mistake> mistakes)
    : Error(NC_EINVAL, describe(file, mistakes)), mistakes_(std::move(mistakes)) {}

}  // namespace sluice::workflows
