#include <boost/program_options/options_description.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "commands.hpp"
#include "exit_status.hpp"
#include "flow_argument.hpp"
#include "format.hpp"
#include "installation.hpp"
#include "reference_order.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/workflows/variants.hpp"
#include "verification.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;
namespace program_options = boost::program_options;

constexpr int status_different = 1;
constexpr std::size_t shown_lines = 10;

/// What `sluice verify` is to run.
struct Task {
  workflows::Workflow workflow;
  std::string text;
  ReferenceOrder order;
  fs::path directory;  ///< of the workflow
  fs::path place;      ///< where the copies go
  bool keeps_copies = false;
};

int verify_mistake(const std::string& text) {
  std::cerr << "sluice verify: " << text << '\n';
  return status_mistake;
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void print_first(const std::vector<std::string>& lines, const std::string& begin) {
  for (std::size_t i = 0; i < std::min(lines.size(), shown_lines); ++i)
    std::cout << begin << lines[i] << '\n';
  if (lines.size() > shown_lines) std::cout << begin << "… and " << lines.size() - shown_lines << " more\n";
}

/// The last lines of a run that failed.
void print_end_of(const fs::path& output) {
  std::vector<std::string> lines;
  std::ifstream stream(output);
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  const std::size_t from = lines.size() - std::min(lines.size(), 2 * shown_lines);
  for (std::size_t i = from; i < lines.size(); ++i) std::cerr << "  | " << lines[i] << '\n';
  std::cerr << "all of its output is in " << output.string() << '\n';
}

/// Whether there is space for two copies, and for what the runs write beside them, which nobody knows.
std::string lack_of_space(const Task& task) {
  std::error_code error;
  const auto space = fs::space(task.place, error);
  const std::uintmax_t needed = 2 * bytes_to_copy(task.directory);
  if (error || space.available > needed) return {};
  return "two copies of " + task.directory.string() + " need " + format_bytes(needed) + ", and " +
         task.place.string() + " has " + format_bytes(space.available) +
         " left\ngive another place by --in, or move large files that are not read out of the directory";
}

void warn_of_outside(const Task& task) {
  for (const auto& component : task.workflow.components) {
    const auto relative = component.directory.lexically_relative(task.directory);
    if (!relative.empty() && *relative.begin() != "..") continue;
    std::cout << "warning: " << component.name << " runs in " << component.directory.string()
              << ", outside of the copies: its files there are the same ones in both runs\n";
  }
}

/// The warnings of the coupled run: a file that was not coupled is equal, but proves nothing.
void print_warnings_of(const fs::path& output) {
  std::vector<std::string> warnings;
  std::ifstream stream(output);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t at = line.find("warning: ");
    if (at != std::string::npos) warnings.push_back(line.substr(at));
  }
  print_first(warnings, "");
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

VerifiedRun run_through_files(const Task& task, const WorkflowCopy& copy, const fs::path& sluice) {
  std::vector<FlowVariant> variants;
  for (const std::string& name : task.order.components)
    variants.push_back({workflows::with_one_component(task.text, name), name});
  if (variants.empty()) variants.push_back({task.text, {}, true});
  return run_variants(copy, variants, task.workflow, sluice);
}

VerifiedRun run_through_memory(const Task& task, const WorkflowCopy& copy, const fs::path& sluice) {
  return run_variants(copy, {{workflows::with_kept_files(task.text)}}, task.workflow, sluice);
}

/// What may have made the run through files fail.
void tell_of_followed(const Task& task) {
  const auto rule = std::ranges::find_if(task.workflow.files, is_followed);
  if (!task.order.components.empty() || rule == task.workflow.files.end()) return;
  std::cerr << "through files, readers of '" << rule->pattern
            << "' wait until its writer has closed it: a writer that waits for them before that cannot be "
               "verified\n";
}

/// Prints how the run went; false when it failed.
bool tell_of(const VerifiedRun& run, const std::string& what, const WorkflowCopy& copy) {
  if (run.status == 0) {
    std::cout << what << ": " << format_duration(run.time);
    if (!run.times.empty()) std::cout << " (" << joined(run.times) << ')';
    std::cout << std::endl;
    return true;
  }
  std::cerr << "sluice verify: the run " << what << " failed with status " << run.status
            << (run.component.empty() ? "" : " in " + run.component) << "; its last lines:\n";
  print_end_of(copy.output());
  return false;
}

void tell_of_reads(const std::string& what, const std::string& equal, const ReadComparison& comparison) {
  std::cout << what << format_count(comparison.equal, equal);
  if (comparison.different > 0) std::cout << ", " << comparison.different << " different";
  if (comparison.excused > 0) std::cout << ", others depend on time";
  std::cout << '\n';
}

/// What two runs need not have in common. Returns whether there is anything.
bool tell_of_time(const Verdict& verdict) {
  print_first(verdict.undecided, "depends on time: ");
  for (const std::string& what : verdict.unproven)
    std::cout << "not proven: " << what << ": time decides how much of it is there\n";
  const bool is_any = !verdict.undecided.empty() || verdict.gets.excused + verdict.reads.excused > 0;
  if (is_any && verdict.unproven.empty())
    std::cout << "readers of the latest, and of queues that discard, have read other files in the two runs\n";
  return is_any;
}

int tell(const Verdict& verdict) {
  std::cout << "files: " << format_count(verdict.equal_files, "equal file") << ", "
            << format_bytes(verdict.equal_bytes) << '\n';
  tell_of_reads("gets: ", "equal get", verdict.gets);
  const std::uint64_t reads = verdict.reads.equal + verdict.reads.different + verdict.reads.excused;
  if (reads > 0) tell_of_reads("read by the C library: ", "equal file", verdict.reads);
  print_first(verdict.remarks, "remark: ");
  if (!verdict.left_out.empty())
    std::cout << "not compared: " << format_count(verdict.left_out.size(), "file")
              << " of rules through subfiles or blobs, such as " << verdict.left_out.front() << '\n';
  print_first(verdict.differences, "different: ");
  print_first(verdict.gets.differences, "different: ");
  print_first(verdict.reads.differences, "different: ");
  const bool depends_on_time = tell_of_time(verdict);
  const bool is_equal =
      verdict.differences.empty() && verdict.gets.different == 0 && verdict.reads.different == 0;
  if (is_equal && verdict.equal_files == 0 && verdict.gets.equal == 0 && verdict.reads.equal == 0) {
    std::cout << "nothing to compare: neither run has written a file, or read a coupled one\n";
    return status_different;
  }
  std::cout << (is_equal ? "memory gave the same bytes as files" : "memory and files gave different bytes")
            << (is_equal && depends_on_time ? ", but for what depends on time\n" : "\n");
  return is_equal ? status_ok : status_different;
}

int verify(const Task& task, const fs::path& sluice) {
  const std::string name = task.directory.filename().string();
  const WorkflowCopy reference(task.directory, task.place / (name + ".verify-files"));
  const WorkflowCopy coupled(task.directory, task.place / (name + ".verify-memory"));
  const VerifiedRun first = run_through_files(task, reference, sluice);
  const bool in_order = !task.order.components.empty();
  const std::string how = in_order ? "through files, one component after the other"
                                   : "through files, with opens that wait (" + task.order.reason + ")";
  if (!tell_of(first, how, reference)) {
    tell_of_followed(task);
    return first.status;
  }
  const VerifiedRun second = run_through_memory(task, coupled, sluice);
  if (!tell_of(second, "through memory", coupled)) return second.status;
  print_warnings_of(coupled.output());
  const int status = tell(compare_runs(reference, coupled, task.workflow));
  if (task.keeps_copies || status != status_ok) {
    std::cout << "the two copies: " << reference.directory().string() << ", " << coupled.directory().string()
              << '\n';
  } else {
    reference.remove();
    coupled.remove();
  }
  return status;
}

}  // namespace

int verify_command(const Arguments& arguments) {
  program_options::options_description options("Options");
  std::string place;
  options.add_options()  //
      ("in", program_options::value(&place)->value_name("DIR"),
       "where the two copies go (default: beside the workflow's directory)")  //
      ("keep", "leave the copies there");
  int status = status_ok;
  const auto line = read_flow_command_line(
      arguments, "verify",
      "Runs a workflow through files, then through memory, in copies of its directory.\n"
      "Compares all files that were written and all values that PnetCDF programs read.\n"
      "Exit status 0: all is equal; 1: something differs.",
      options, status);
  if (!line) return status;
  auto workflow = read_workflow(line->flow);
  if (!workflow) return status_mistake;
  try {
    Task task{std::move(*workflow), text_of(line->flow), {}, {}, {}, line->options.count("keep") != 0};
    task.order = order_for_reference(task.workflow);
    task.directory = fs::canonical(fs::absolute(line->flow)).parent_path();
    task.place = place.empty() ? task.directory.parent_path() : fs::absolute(place);
    if (!fs::is_directory(task.place))
      return verify_mistake("--in names '" + task.place.string() + "', which is no directory");
    if (const std::string lack = lack_of_space(task); !lack.empty()) return verify_mistake(lack);
    warn_of_outside(task);
    return verify(task, find_installation().program);
  } catch (const IoError& error) {
    std::cerr
        << "sluice verify: " << error.what()
        << "\nsluice verify works in two copies of the workflow's directory; --in DIR puts them elsewhere\n";
  } catch (const fs::filesystem_error& error) {
    std::cerr << "sluice verify: " << error.what() << '\n';
  }
  return status_runtime_failure;
}

}  // namespace sluice::coordinator
