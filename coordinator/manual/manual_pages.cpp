#include "manual_pages.hpp"

#include <algorithm>
#include <array>

#include "sluice/runtime/version.hpp"
#include "sluice/workflows/key_table.hpp"

namespace sluice::coordinator {
namespace {

using workflows::Key;
using workflows::KeySection;

/// Replaces each link "[text](address)" by its text, and drops the bold marks.
std::string without_links(std::string_view markdown) {
  std::string text;
  for (std::size_t at = 0; at < markdown.size(); ++at) {
    const std::size_t middle = markdown[at] == '[' ? markdown.find("](", at) : std::string_view::npos;
    const std::size_t end = middle == std::string_view::npos ? middle : markdown.find(')', middle);
    if (end != std::string_view::npos && markdown.find(']', at) == middle) {
      text += markdown.substr(at + 1, middle - at - 1);
      at = end;
    } else if (markdown.substr(at).starts_with("**")) {
      ++at;
    } else {
      text += markdown[at];
    }
  }
  return text;
}

/// Protects what means something to man.
std::string protected_text(std::string_view text) {
  std::string result;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (c == '~') {
      result += "\\(ti";
    } else if (c == '^') {
      result += "\\(ha";
    } else if (c == '`') {
      result += "\\(ga";
    } else if (c == '\'') {
      result += "\\(aq";
    } else if (static_cast<unsigned char>(c) == 0xe2) {  // the only character of ours beyond ASCII: …
      result += "...";
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      continue;
    } else {
      result += c;
    }
    begins_line = c == '\n';
  }
  return result;
}

/// Text for a manual page: `code` becomes bold.
std::string roff_text(std::string_view markdown) {
  const std::string text = without_links(markdown);
  std::string result;
  bool is_code = false;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('`', begin), text.size());
    const std::string part = protected_text(std::string_view(text).substr(begin, end - begin));
    result += is_code && !part.empty() ? "\\fB" + part + "\\fR" : part;
    is_code = !is_code;
    begin = end + 1;
  }
  return result;
}

std::string heading(std::string_view page, std::string_view section) {
  return ".\\\" Made by sluice itself.\n.TH " + std::string(page) + " " + std::string(section) +
         " \"\" \"Sluice " + std::string(runtime::library_version) + "\" \"Sluice\"\n.SH NAME\n";
}

/// Lines as they are.
std::string verbatim(std::string_view text) {
  std::string lines(text);
  while (lines.ends_with('\n')) lines.pop_back();
  return ".nf\n" + protected_text(lines) + "\n.fi\n";
}

constexpr std::string_view example = R"(version: 1
components:
  model:    {command: ./model in.nml, ranks: 4}
  analysis: {command: [python3, analysis.py, "wave_*.nc"]}
files:
  - path: "wave_*.nc"
    writer: model
    readers: [analysis])";

}  // namespace

std::string plain_text(std::string_view markdown) {
  std::string text;
  for (const char c : without_links(markdown))
    if (c != '`') text += c;
  return text;
}

std::string command_manual(std::string_view usage, const std::vector<CommandHelp>& commands) {
  std::string page = heading("SLUICE", "1");
  page +=
      "sluice \\- couples programs that exchange netCDF files\n.SH SYNOPSIS\n.B sluice\n.I "
      "COMMAND\n[options]\n";
  page += ".SH DESCRIPTION\n" + verbatim(usage) + ".SH COMMANDS\n";
  for (const CommandHelp& command : commands)
    page += ".SS " + protected_text(command.name) + "\n" + verbatim(command.help);
  return page +
         ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nWhen it is set and not empty, there are no colours.\n"
         ".SH SEE ALSO\n.BR sluice\\-workflow (5)\n";
}

std::string workflow_manual() {
  struct Part {
    KeySection section;
    std::string_view title, text;
  };
  constexpr std::array parts{
      Part{KeySection::workflow, "TOP LEVEL", "The keys of the file:"},
      Part{KeySection::staging, "STAGING", "The keys below \\fBstaging\\fR: memory, disk and matchers."},
      Part{KeySection::component, "A COMPONENT", "The keys of each entry below \\fBcomponents\\fR."},
      Part{KeySection::job, "A JOB FOR EACH FILE",
           "The keys of a component that is started once for each published file. In its command and "
           "environment, "
           "\\fB{file}\\fR, \\fB{name}\\fR, \\fB{stem}\\fR and \\fB{step}\\fR are replaced."},
      Part{KeySection::rule, "A FILE RULE", "The keys of each element below \\fBfiles\\fR."}};
  std::string page = heading("SLUICE\\-WORKFLOW", "5");
  page +=
      "sluice\\-workflow \\- the workflow file of sluice\n.SH DESCRIPTION\nA workflow file names the "
      "programs of a "
      "run and the files that pass between them. It is one YAML document.\n.B sluice check\nreports every "
      "mistake "
      "in it with file, line and column.\n.SH EXAMPLE\n" +
      verbatim(example);
  for (const Part& part : parts) {
    page += ".SH " + std::string(part.title) + "\n" + std::string(part.text) + "\n";
    for (const Key& key : workflows::all_keys()) {
      if (key.section != part.section) continue;
      page += ".TP\n.B " + protected_text(key.name) + "\n" + roff_text(key.value) + ".\n";
      if (!key.default_value.empty()) page += "Default: " + roff_text(key.default_value) + ".\n";
    }
  }
  return page + ".SH SEE ALSO\n.BR sluice (1)\n";
}

}  // namespace sluice::coordinator
