#include "resume_words.hpp"

namespace sluice::coordinator {
namespace {

constexpr std::string_view placeholder = "{resume}";

void replace_in(std::string& text, const std::string& number) {
  for (std::size_t at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at + number.size()))
    text.replace(at, placeholder.size(), number);
}

}  // namespace

void set_resume_number(workflows::Workflow& workflow, int resumes) {
  const std::string number = std::to_string(resumes);
  for (workflows::Component& component : workflow.components) {
    for (std::string& word : component.command) replace_in(word, number);
    for (std::string& word : component.launcher_options) replace_in(word, number);
    for (auto& [name, value] : component.environment) replace_in(value, number);
  }
}

}  // namespace sluice::coordinator
