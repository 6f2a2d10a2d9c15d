#include "job_words.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace sluice::coordinator {
namespace {

/// The values of workflows::job_placeholders, in their order.
using Values = std::array<std::string, workflows::job_placeholders.size()>;

/// Goes through the text once, so that a file's own name is not searched for placeholders.
std::string replaced(const std::string& text, const Values& values) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto placeholder = std::ranges::find_if(workflows::job_placeholders, [&](std::string_view word) {
      return text.compare(at, word.size(), word) == 0;
    });
    if (placeholder == workflows::job_placeholders.end()) {
      result += text[at++];
    } else {
      result += values.at(static_cast<std::size_t>(placeholder - workflows::job_placeholders.begin()));
      at += placeholder->size();
    }
  }
  return result;
}

}  // namespace

std::string short_name(const JobFile& file) {
  return std::filesystem::path(file.path).filename().string();
}

workflows::Component component_for(const workflows::Component& component, const JobFile& file) {
  const std::filesystem::path path = file.path;
  const Values values{file.path, path.filename().string(), path.stem().string(), std::to_string(file.number)};
  workflows::Component job = component;
  for (std::string& word : job.command) word = replaced(word, values);
  for (auto& [name, value] : job.environment) value = replaced(value, values);
  return job;
}

}  // namespace sluice::coordinator
