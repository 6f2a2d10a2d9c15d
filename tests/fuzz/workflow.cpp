// The text of a workflow: it is parsed, or refused with mistakes that have a place and a text.
#include "sluice/workflows/workflow.hpp"

#include <string_view>

#include "support.hpp"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const workflows::Workflow workflow = workflows::parse_workflow(text, "flow.yaml");
    fuzz::require(!workflow.components.empty(), "a workflow has components");
    (void)workflows::find_cycles(workflow);
    for (const workflows::Component& component : workflow.components)
      (void)workflows::writers_for(workflow, component.name);
  } catch (const workflows::WorkflowError& error) {
    fuzz::require(!error.mistakes().empty(), "a refusal names a mistake");
    for (const workflows::Mistake& mistake : error.mistakes()) {
      fuzz::require(mistake.position.line >= 1 && mistake.position.column >= 1, "a mistake has a place");
      fuzz::require(!mistake.text.empty(), "a mistake has a text");
    }
  }
  return 0;
}
