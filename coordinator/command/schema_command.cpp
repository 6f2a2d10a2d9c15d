#include <iostream>

#include "commands.hpp"
#include "exit_status.hpp"
#include "key_schema.hpp"
#include "manual_pages.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* schema_help = R"(sluice schema [--json|--markdown|--manual]
Prints what a workflow file may contain.
  --json      a JSON schema for editors, which then complete keys and mark
              mistakes (default)
  --markdown  the keys as rows of tables
  --manual    the manual page sluice-workflow(5)
Example: sluice schema > sluice.schema.json
and in a workflow file: # yaml-language-server: $schema=sluice.schema.json
)";

}  // namespace

int schema_command(const Arguments& arguments) {
  const std::string form = arguments.empty() ? "--json" : arguments.front();
  const bool is_help = form == "--help" || form == "-h";
  if (arguments.size() > 1 || (!is_help && form != "--json" && form != "--markdown" && form != "--manual")) {
    std::cerr << "sluice schema: '" << arguments.back()
              << "' is not expected\nwrite sluice schema [--json|--markdown|--manual]\n";
    return status_mistake;
  }
  std::cout << (is_help                ? std::string(schema_help)
                : form == "--json"     ? keys_as_json_schema() + "\n"
                : form == "--markdown" ? keys_as_markdown()
                                       : workflow_manual());
  return status_ok;
}

}  // namespace sluice::coordinator
