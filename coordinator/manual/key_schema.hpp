#pragma once
#include <string>

namespace sluice::coordinator {

/// The workflow file as a JSON schema (draft 7), for completion and checks in editors: docs/editors.md. It
/// follows the table of keys.
[[nodiscard]] std::string keys_as_json_schema();
/// The rows of the tables in docs/workflow-reference.md, each after its section: "rule | `path` | … | … |".
[[nodiscard]] std::string keys_as_markdown();

}  // namespace sluice::coordinator
