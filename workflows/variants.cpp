#include "sluice/workflows/variants.hpp"

#include <yaml-cpp/yaml.h>

namespace sluice::workflows {
namespace {

std::string text_of(const YAML::Node& root) {
  YAML::Emitter emitter;
  emitter << root;
  return std::string(emitter.c_str()) + '\n';
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

void pass_through_files(Workflow& workflow) {
  for (FileRule& rule : workflow.files) {
    rule.through = Through::ordered_file;
    rule.keep = {};
    rule.exposes = false;
    rule.has_hyperslabs = false;
    rule.publish_at = PublishAt::close;
    rule.queue = 0;
    rule.when_full = matcher::WhenFull::spill;
    std::erase_if(rule.modes, [&](const matcher::ReaderMode& mode) {
      return !rule.is_stream || mode.mode == matcher::ReadMode::latest;
    });
  }
}

std::string with_kept_files(const std::string& text) {
  YAML::Node root = YAML::Load(text);
  for (YAML::Node rule : root["files"]) {
    if (!rule["through"] || rule["through"].as<std::string>() == "memory") rule["keep"] = "true";
  }
  return text_of(root);
}

}  // namespace sluice::workflows
