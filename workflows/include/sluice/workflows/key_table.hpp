#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::workflows {

/// The mappings of a workflow file. `job`: the keys of a component that go with `for-each`.
enum class KeySection { workflow, staging, component, job, rule };

/// What a value looks like.
enum class KeyKind {
  text,
  integer,
  word,  ///< one of Key::words
  boolean,
  size,       ///< bytes, or a number with a unit
  duration,   ///< "500ms"
  command,    ///< a text or a list of words
  texts,      ///< a list
  variables,  ///< a mapping from names to texts
  launcher,   ///< a word, or a mapping with a command line
  publish,    ///< a word, or close:N
  retries,    ///< a word, or retry N
  readers,    ///< a list, or a mapping from readers to modes
  keep,       ///< a truth, or a list of variables
  staging,
  components,
  rules,
};

struct Component;
struct FileRule;
struct ForEach;
struct Workflow;

/// Puts the value of a key into what its mapping describes. A word is its index in Key::words, a truth is 0
/// or 1.
template <class Object>
using SetIn = std::function<void(Object& object, std::int64_t value)>;

/// A key of the workflow file. This is the only description of keys: the parser, the schema for editors, the
/// manual page and the tables of docs/workflow-reference.md follow it.
struct Key {
  KeySection section;
  std::string name;
  KeyKind kind;
  std::string value;          ///< what the value means, in Markdown, as in the reference
  std::string default_value;  ///< in Markdown; empty: there is none to speak of
  bool is_required = false;
  std::vector<std::string> words = {};
  std::int64_t least = 0, most = INT64_MAX;  ///< of integers
  std::string needs = {};                    ///< another key without which this one is a mistake
  bool excludes_jobs = false;                ///< of components: not with `for-each`
  /// of words, integers and truths
  std::variant<std::monostate, SetIn<Workflow>, SetIn<Component>, SetIn<ForEach>, SetIn<FileRule>> set = {};
};

/// All keys, by section.
[[nodiscard]] std::span<const Key> all_keys();
/// The key of a section. It must exist.
[[nodiscard]] const Key& key_of(KeySection section, std::string_view name);
/// The names of the keys that a mapping may have; those of jobs count as keys of a component.
[[nodiscard]] const std::vector<std::string>& key_names(KeySection section);

}  // namespace sluice::workflows
