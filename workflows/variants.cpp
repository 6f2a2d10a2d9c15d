#include "sluice/workflows/variants.hpp"

#include <yaml-cpp/yaml.h>

namespace sluice::workflows {
namespace {

std::string text_of(const YAML::Node& root) {
  YAML::Emitter emitter;
  emitter << root;
  return std::string(emitter.c_str()) + '\n';
}

/// Without the modes.
YAML::Node names_of_readers(const YAML::Node& readers) {
  if (!readers.IsMap()) return readers;
  YAML::Node names(YAML::NodeType::Sequence);
  for (const auto& reader : readers) names.push_back(reader.first);
  return names;
}

}  // namespace

std::string with_one_component(const std::string& text, const std::string& component) {
  YAML::Node root = YAML::Load(text);
  root.remove("files");
  YAML::Node only;
  only[component] = root["components"][component];
  only[component].remove("start");  // nothing is left to wait for
  root["components"] = only;
  return text_of(root);
}

std::string with_plain_files(const std::string& text) {
  YAML::Node root = YAML::Load(text);
  for (YAML::Node rule : root["files"]) {
    rule["through"] = "file";
    rule.remove("keep");
    if (rule["steps"] && rule["steps"].as<std::string>() == "stream") continue;
    for (const char* key : {"queue", "when-full", "expose"}) rule.remove(key);
    rule["readers"] = names_of_readers(rule["readers"]);
  }
  return text_of(root);
}

std::string with_kept_files(const std::string& text) {
  YAML::Node root = YAML::Load(text);
  for (YAML::Node rule : root["files"]) {
    if (!rule["through"] || rule["through"].as<std::string>() == "memory") rule["keep"] = "true";
  }
  return text_of(root);
}

}  // namespace sluice::workflows
