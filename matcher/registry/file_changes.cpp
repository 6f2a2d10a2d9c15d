#include "file_changes.hpp"

#include "registry_parts.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/published_file.hpp"

namespace sluice::matcher {

namespace {

/// A file of which only its copy on disk is left is a file like others.
bool is_of_run(RegistryParts& parts, const DatasetKey& key) {
  const Dataset* const dataset = parts.datasets.find(key);
  return dataset != nullptr && (dataset->newest != nullptr || !dataset->in_progress.empty());
}

/// The program itself prints no more than "Permission denied".
[[noreturn]] void refuse(RegistryParts& parts, const std::string& text) {
  parts.answers.event(text);
  throw Error(NC_EPERM, text);
}

/// It is no component of the run: a file on disk is none of the run's business.
[[noreturn]] void refuse_attached(RegistryParts& parts, const DatasetKey& key) {
  if (!is_of_run(parts, key)) throw Error(NC_ENOENT, key.name);
  refuse(parts,
         "A program that is attached cannot change " + parts.names.quoted(key) +
             ": it only looks at the run. Let it write to another name, or change a copy ('sluice cp')");
}

}  // namespace

void refuse_change(RegistryParts& parts, const std::string& component, const DatasetKey& key,
                   const std::string& path) {
  const FileRule& rule = parts.rules.of(key);
  if (component == attached_name) refuse_attached(parts, key);
  if (!is_of_run(parts, key)) {
    parts.uses.note_ordinary_file(component, {key.rule, path, true});
    parts.uses.note_own_file(component, key);
    throw Error(NC_ENOENT, path);
  }
  if (is_written_in_place(rule.through)) throw Error(NC_ENOENT, path);  // that is the disk's business
  refuse(parts, component + " cannot change " + parts.names.quoted(key) + ": " + rule.writer +
                    " writes it, and " + component + " only reads it. Let " + component +
                    " write to another name");
}

/// As on disk, the file is no longer there after the run, and the component does not find it in its
/// directory.
void allow_removal(RegistryParts& parts, const std::string& component, const DatasetKey& key) {
  if (component == attached_name) refuse_attached(parts, key);
  const FileRule& rule = parts.rules.of(key);
  const std::string file = parts.names.quoted(key);
  if (!is_of_run(parts, key)) throw Error(NC_ENOENT, file);
  if (rule.is_drained()) refuse(parts, component + " cannot remove " + file + ": the rule keeps it on disk");
  parts.datasets[key].removed_by.insert(component);
  parts.answers.detail(component + " removes " + file + ": it goes when all its readers have closed it");
}

}  // namespace sluice::matcher
