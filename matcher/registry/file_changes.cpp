#include "file_changes.hpp"

#include "registry_parts.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/published_file.hpp"

namespace sluice::matcher {

void FileChanges::refuse_change(const std::string& component, const DatasetKey& key,
                                const std::string& path) {
  const FileRule& rule = parts_.rules.of(key);
  if (component == attached_name) refuse_attached(key);
  if (!is_of_run(key)) {
    parts_.uses.note_ordinary_file(component, {key.rule, path, true});
    parts_.uses.note_own_file(component, key);
    throw Error(NC_ENOENT, path);
  }
  if (is_written_in_place(rule.through)) throw Error(NC_ENOENT, path);  // that is the disk's business
  refuse(component + " cannot change " + parts_.names.quoted(key) + ": " + rule.writer + " writes it, and " +
         component + " only reads it. Let " + component + " write to another name");
}

/// As on disk, the file is no longer there after the run, and the component does not find it in its
/// directory.
void FileChanges::allow_removal(const std::string& component, const DatasetKey& key) {
  if (component == attached_name) refuse_attached(key);
  const FileRule& rule = parts_.rules.of(key);
  const std::string file = parts_.names.quoted(key);
  if (!is_of_run(key)) throw Error(NC_ENOENT, file);
  if (rule.is_drained()) refuse(component + " cannot remove " + file + ": the rule keeps it on disk");
  parts_.datasets[key].removed_by.insert(component);
  parts_.answers.detail(component + " removes " + file + ": it goes when all its readers have closed it");
}

/// It is no component of the run: a file on disk is none of the run's business.
void FileChanges::refuse_attached(const DatasetKey& key) {
  if (!is_of_run(key)) throw Error(NC_ENOENT, key.name);
  refuse("A program that is attached cannot change " + parts_.names.quoted(key) +
         ": it only looks at the run. Let it write to another name, or change a copy ('sluice cp')");
}

/// A file of which only its copy on disk is left is a file like others.
bool FileChanges::is_of_run(const DatasetKey& key) const {
  const Dataset* const dataset = parts_.datasets.find(key);
  return dataset != nullptr && (dataset->newest != nullptr || !dataset->in_progress.empty());
}

/// The program itself prints no more than "Permission denied".
void FileChanges::refuse(const std::string& text) {
  parts_.answers.event(text);
  throw Error(NC_EPERM, text);
}

}  // namespace sluice::matcher
