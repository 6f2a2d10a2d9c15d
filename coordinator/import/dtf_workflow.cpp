#include <sstream>

#include "dtf_configuration.hpp"
#include "format.hpp"

namespace sluice::coordinator {
namespace {

/// A name that YAML takes for nothing needs quotes.
std::string scalar(const std::string& name) {
  return name == "null" || name == "Null" || name == "NULL" ? '"' + name + '"' : name;
}

/// A path as part of a comment.
std::string shown(const std::filesystem::path& file) {
  std::string name = file.filename().string();
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return name;
}

void write_components(std::ostream& out, const DtfConfiguration& configuration) {
  out << "components:\n";
  for (const std::string& name : configuration.components) {
    out << "  " << scalar(name) << ":\n"
        << "    command: \"???\"  # the program and its arguments\n"
        << "    ranks: 1  # the number that mpirun -n has\n";
  }
}

void write_rule(std::ostream& out, const DtfFile& file, bool divides_by_variable, const std::string& ini) {
  if (file.has_guessed_direction) {
    out << "  # " << ini << ':' << file.line
        << ": DTF does not say which component writes. The first is taken; if the second writes, swap "
           "them.\n";
  }
  out << "  - path: " << in_quotes(file.pattern) << "\n    writer: " << scalar(file.writer)
      << "\n    readers: [";
  for (std::size_t i = 0; i < file.readers.size(); ++i)
    out << (i == 0 ? "" : ", ") << scalar(file.readers[i]);
  out << "]\n";
  if (file.is_on_disk) out << "    through: file\n";
  if (divides_by_variable) out << "    partition: variable\n";
  if (file.has_replay) out << "    replay: auto\n";
}

}  // namespace

std::string write_workflow_of(const DtfConfiguration& configuration, const std::filesystem::path& file) {
  const std::string ini = shown(file);
  std::ostringstream out;
  out << "# Made from " << ini << " by sluice import-dtf.\n"
      << "# DTF does not start components. Write the command of each in place of ???, and its ranks.\n";
  if (!configuration.notes.empty()) out << "#\n# Without an equivalent:\n";
  for (const workflows::Mistake& note : configuration.notes) out << "#   " << note.describe(ini) << '\n';
  out << "version: 1\n";
  write_components(out, configuration);
  out << (configuration.files.empty() ? "files: []\n" : "files:\n");
  for (const DtfFile& rule : configuration.files)
    write_rule(out, rule, configuration.divides_by_variable, ini);
  return out.str();
}

}  // namespace sluice::coordinator
