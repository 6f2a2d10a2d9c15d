#include "key_schema.hpp"

#include <algorithm>
#include <array>

#include "json_writer.hpp"
#include "manual_pages.hpp"
#include "sluice/workflows/key_table.hpp"

namespace sluice::coordinator {
namespace {

using workflows::Key;
using workflows::KeyKind;
using workflows::KeySection;

/// A scalar of YAML that is a text for the parser, whatever it looks like.
const std::vector<std::string> scalar_types{"string", "number", "boolean"};

/// Writes the schema of a mapping, and of each key in it.
class SchemaWriter {
 public:
  std::string write() {
    json_.begin_object()
        .member("$schema", "http://json-schema.org/draft-07/schema#")
        .member("title", "A workflow of Sluice");
    mapping(KeySection::workflow);
    json_.end_object();
    return json_.text();
  }

 private:
  /// The members of a schema for a mapping with the keys of the section.
  void mapping(KeySection section) {
    json_.member("type", "object").member("additionalProperties", false);
    json_.key("properties").begin_object();
    for (const std::string& name : workflows::key_names(section)) property(section, name);
    json_.end_object();
    required(section);
    dependencies(section);
  }

  void required(KeySection section) {
    std::vector<std::string> names;
    for (const Key& key : workflows::all_keys())
      if (key.section == section && key.is_required) names.push_back(key.name);
    if (!names.empty()) json_.member("required", names);
  }

  void dependencies(KeySection section) {
    json_.key("dependencies").begin_object();
    for (const Key& key : workflows::all_keys()) {
      const bool is_of_mapping =
          key.section == section || (section == KeySection::component && key.section == KeySection::job);
      if (is_of_mapping && !key.needs.empty()) json_.member(key.name, std::vector<std::string>{key.needs});
    }
    json_.end_object();
  }

  /// A key of a component may mean something else with `for-each`: either is allowed.
  void property(KeySection section, const std::string& name) {
    std::vector<const Key*> meanings;
    for (const Key& key : workflows::all_keys()) {
      const bool is_of_mapping =
          key.section == section || (section == KeySection::component && key.section == KeySection::job);
      if (is_of_mapping && key.name == name) meanings.push_back(&key);
    }
    json_.key(name).begin_object();
    std::string description;
    for (const Key* key : meanings)
      description += (description.empty() ? "" : " With for-each: ") + describe(*key);
    json_.member("description", description);
    if (meanings.size() == 1) {
      value(*meanings.front());
    } else {
      json_.key("anyOf").begin_list();
      for (const Key* key : meanings) {
        json_.begin_object();
        value(*key);
        json_.end_object();
      }
      json_.end_list();
    }
    json_.end_object();
  }

  static std::string describe(const Key& key) {
    const std::string otherwise =
        key.default_value.empty() ? "" : " Default: " + plain_text(key.default_value) + ".";
    return plain_text(key.value) + "." + otherwise;
  }

  void words(const std::vector<std::string>& words) { json_.member("enum", words); }
  void pattern(std::string_view pattern) { json_.member("type", "string").member("pattern", pattern); }
  void texts() {
    json_.member("type", "array").key("items").begin_object().member("type", scalar_types).end_object();
  }
  /// Alternatives, each written by a function.
  template <class... Writers>
  void any_of(Writers... writers) {
    json_.key("anyOf").begin_list();
    ((json_.begin_object(), writers(), json_.end_object()), ...);
    json_.end_list();
  }

  void value(const Key& key) {
    switch (key.kind) {
      case KeyKind::text:
        json_.member("type", scalar_types);
        break;
      case KeyKind::integer:
        json_.member("type", "integer").member("minimum", key.least);
        if (key.most != INT64_MAX) json_.member("maximum", key.most);
        break;
      case KeyKind::word:
        words(key.words);
        break;
      case KeyKind::boolean:
        json_.member("type", "boolean");
        break;
      case KeyKind::size:
        any_of([&] { json_.member("type", "number").member("minimum", 0); },
               [&] { pattern("^ *[0-9]*[.]?[0-9]+([eE][+]?[0-9]+)? *(B|[kK]i?B|[MGT]i?B)? *$"); });
        break;
      case KeyKind::duration:
        pattern("^[0-9]*[.]?[0-9]+ *(ms|s|min|h)$");
        break;
      case KeyKind::command:
        any_of([&] { json_.member("type", scalar_types); },
               [&] {
                 texts();
                 json_.member("minItems", 1);
               });
        break;
      case KeyKind::texts:
        texts();
        break;
      case KeyKind::variables:
        json_.member("type", "object").key("additionalProperties").begin_object();
        json_.member("type", scalar_types).end_object();
        break;
      case KeyKind::launcher:
        any_of([&] { words(key.words); },
               [&] {
                 json_.member("type", "object").member("additionalProperties", false);
                 json_.member("required", std::vector<std::string>{"command"});
                 json_.key("properties").begin_object().key("command").begin_object();
                 json_.member("type", "string").member("pattern", "\\{ranks\\}");
                 json_.end_object().end_object();
               });
        break;
      case KeyKind::publish:
        any_of([&] { words(without_form(key.words)); }, [&] { pattern("^close:[1-9][0-9]{0,5}$"); });
        break;
      case KeyKind::retries:
        any_of([&] { words(key.words); }, [&] { pattern("^retry [0-9]{1,4}$"); });
        break;
      case KeyKind::readers:
        any_of(
            [&] {
              texts();
              json_.member("minItems", 1).member("uniqueItems", true);
            },
            [&] {
              json_.member("type", "object")
                  .member("minProperties", 1)
                  .key("additionalProperties")
                  .begin_object();
              any_of(
                  [&] {
                    words({"all", "latest"});
                  },
                  [&] { json_.member("type", "integer").member("minimum", 1); });
              json_.end_object();
            });
        break;
      case KeyKind::keep:
        any_of([&] { json_.member("type", "boolean"); }, [&] { texts(); });
        break;
      case KeyKind::staging:
        mapping(KeySection::staging);
        break;
      case KeyKind::components:
        json_.member("type", "object").member("minProperties", 1);
        json_.key("propertyNames").begin_object().member("pattern", "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$");
        json_.end_object().key("additionalProperties").begin_object();
        mapping(KeySection::component);
        json_.end_object();
        break;
      case KeyKind::rules:
        json_.member("type", std::vector<std::string>{"array", "null"}).key("items").begin_object();
        mapping(KeySection::rule);
        json_.end_object();
        break;
    }
  }

  /// "close:N" stands for a form, which has a pattern of its own.
  static std::vector<std::string> without_form(std::vector<std::string> words) {
    std::erase_if(words, [](const std::string& word) { return word.find(':') != std::string::npos; });
    return words;
  }

  JsonWriter json_;
};

}  // namespace

std::string keys_as_json_schema() {
  return SchemaWriter().write();
}

std::string keys_as_markdown() {
  constexpr std::array<std::string_view, 5> names{"workflow", "staging", "component", "job", "rule"};
  std::string text;
  for (const Key& key : workflows::all_keys())
    text += std::string(names.at(static_cast<std::size_t>(key.section))) + " | `" + key.name + "` | " +
            key.value + " | " + key.default_value + (key.default_value.empty() ? "|\n" : " |\n");
  return text;
}

}  // namespace sluice::coordinator
