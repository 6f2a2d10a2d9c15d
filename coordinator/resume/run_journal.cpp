#include "run_journal.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <span>
#include <thread>

#include "format.hpp"
#include "log_directory.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/storage/step_record.hpp"
#include "sluice/storage/tab_line.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr const char* journal_begin = "sluice-run\t1";

/// This machine, and which start of it this is; empty where the system does not tell.
FormerRun::Machine this_machine() {
  FormerRun::Machine machine;
  machine.name = host_name();
  std::ifstream("/proc/sys/kernel/random/boot_id") >> machine.start;
  return machine;
}

template <class Number>
Number number_from(const std::string& text) {
  Number number{};
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Takes a line of a journal; others are ignored, for the last one may be torn.
void take_line(const std::vector<std::string>& cells, FormerRun& run) {
  const std::string& kind = cells.front();
  if (kind == "run" && cells.size() == 6) {
    run.name = cells[1];
    run.run = {number_from<std::uint64_t>(cells[3]), number_from<std::int64_t>(cells[4])};
    run.resumes = number_from<int>(cells[5]);
  } else if (kind == "rule" && cells.size() == 3) {
    run.rules.push_back({cells[1], cells[2]});
  } else if (kind == "node" && cells.size() == 2) {
    run.nodes.push_back(cells[1]);
  } else if (kind == "machine" && cells.size() == 3) {
    run.machine = {cells[1], cells[2]};
  } else if (kind == "started") {
    run.has_started = true;
  } else if (kind == "ended" && cells.size() == 2) {
    run.ended.insert(cells[1]);
  } else if (kind == "memory" && cells.size() == 2) {
    run.peak_bytes = number_from<std::uint64_t>(cells[1]);
  } else if (kind == "end" && cells.size() == 2) {
    run.status = number_from<int>(cells[1]);
  }
}

/// Without a name where there is no journal.
FormerRun read_any_journal(const fs::path& log_directory) {
  FormerRun run;
  run.log_directory = log_directory;
  std::error_code error;
  run.has_record = fs::exists(log_directory / step_record_file, error);
  std::ifstream stream(log_directory / journal_file);
  std::string line;
  if (!std::getline(stream, line) || line != journal_begin) return run;
  while (std::getline(stream, line) && !stream.eof()) take_line(storage::decode_cells(line), run);
  return run;
}

/// Nothing where there is no journal with a record of steps.
std::optional<FormerRun> read_journal(const fs::path& log_directory) {
  FormerRun run = read_any_journal(log_directory);
  return run.has_work() ? std::optional(std::move(run)) : std::nullopt;
}

bool is_written(const FormerRun& run, const char* file) {
  storage::PosixFileSystem files;
  return storage::is_recording(files, (run.log_directory / file).string());
}

/// Whether a directory is the log of a run: others that somebody has put there are left alone.
bool is_log(const fs::path& directory) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(directory, error)) &&
         (fs::exists(directory / journal_file, error) || fs::exists(directory / "events.log", error));
}

/// A run without a journal: its name and beginning, from those of its directory.
void take_directory(FormerRun& run) {
  constexpr std::size_t date = sizeof "-20261129-015500" - 1;
  const std::string directory = run.log_directory.filename().string();
  const std::size_t number = directory.rfind('-');
  run.name = number == std::string::npos || number <= date ? directory : directory.substr(0, number - date);
  std::error_code error;
  const auto time = std::chrono::file_clock::to_sys(fs::last_write_time(run.log_directory, error));
  run.run.begin_ns = std::chrono::nanoseconds(time.time_since_epoch()).count();
}

/// A coordinator that was killed is gone at once; matchers may have much to clean up.
bool has_ended_within(const FormerRun& run, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds interval{50};
  const std::chrono::milliseconds short_patience = patience / 10;
  auto waited = std::chrono::milliseconds::zero();
  for (; is_written(run, journal_file); waited += interval) {
    if (waited >= short_patience) return false;
    std::this_thread::sleep_for(interval);
  }
  for (; is_written(run, step_record_file); waited += interval) {
    if (waited >= patience) return false;
    std::this_thread::sleep_for(interval);
  }
  return true;
}

std::optional<FormerRun> newest_run(const workflows::Workflow& workflow, const fs::path& log_directory) {
  if (!log_directory.empty()) return read_journal(log_directory);
  std::optional<FormerRun> newest;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(logs_beside(workflow.file), error)) {
    auto run = read_journal(entry.path());
    if (!run || run->name != workflow.name) continue;
    if (!newest || run->run.begin_ns > newest->run.begin_ns) newest = std::move(run);
  }
  return newest;
}

}  // namespace

RunJournal::RunJournal(const fs::path& log_directory, const workflows::Workflow& workflow,
                       const runtime::RunIdentity& run, int resumes, const std::vector<std::string>& nodes) {
  storage::PosixFileSystem files;
  const std::string path = (log_directory / journal_file).string();
  if (files.exists(path)) files.remove(path);
  file_ = files.open(path, storage::OpenMode::create_private);
  (void)file_->try_lock();
  add(journal_begin);
  for (const workflows::FileRule& rule : workflow.files)
    add("rule\t" + storage::encode_cell(rule.pattern) + '\t' + storage::encode_cell(rule.writer));
  add("run\t" + storage::encode_cell(workflow.name) + '\t' +
      storage::encode_cell(fs::absolute(workflow.file).string()) + '\t' + std::to_string(run.number) + '\t' +
      std::to_string(run.begin_ns) + '\t' + std::to_string(resumes));
  for (const std::string& node : nodes) add("node\t" + storage::encode_cell(node));
  const FormerRun::Machine machine = this_machine();
  if (!machine.start.empty())
    add("machine\t" + storage::encode_cell(machine.name) + '\t' + storage::encode_cell(machine.start));
  sync();
  files.sync_directory(log_directory.string());
}

bool FormerRun::was_cut_off() const {
  const Machine now = this_machine();
  return !status && machine.name == now.name && !machine.start.empty() && machine.start != now.start;
}

void RunJournal::note_end_of(const std::string& component) {
  if (is_stopping_) return;
  add("ended\t" + storage::encode_cell(component));
  sync();
}

void RunJournal::note_stop() {
  is_stopping_ = true;
}

void RunJournal::note_end(int status) {
  add("end\t" + std::to_string(status));
  sync();
}

void RunJournal::sync() noexcept {
  try {
    if (file_ != nullptr) file_->sync();
  } catch (const Error&) {
    // The system writes it to storage later.
  }
}

void RunJournal::add(std::string_view line) {
  if (file_ == nullptr) return;
  const std::string text = std::string(line) + '\n';
  try {
    file_->write(size_bytes_, std::as_bytes(std::span(text)));
    size_bytes_ += std::ssize(text);
  } catch (const Error&) {
    file_.reset();
  }
}

/// By the names of the directories, which have the date: there may be thousands.
std::uint64_t former_peak(const workflows::Workflow& workflow, const fs::path& log_directory) {
  fs::path newest;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(logs_beside(workflow.file), error)) {
    const bool may_be = entry.path().filename().string().starts_with(workflow.name + "-2");  // the year
    if (may_be && entry.path() != log_directory) newest = std::max(newest, entry.path());
  }
  const FormerRun run = read_any_journal(newest);
  return run.name == workflow.name ? run.peak_bytes : 0;
}

FormerRun find_former_run(const workflows::Workflow& workflow, const fs::path& log_directory,
                          std::chrono::milliseconds patience) {
  const auto run = newest_run(workflow, log_directory);
  if (!run) {
    const std::string where =
        log_directory.empty() ? logs_beside(workflow.file).string() : log_directory.string();
    throw Error(NC_ENOENT, "there is no run of '" + workflow.name + "' to resume: " + where +
                               " has no record of one. Start without --resume, or name its log directory "
                               "with --log-dir");
  }
  if (!has_ended_within(*run, patience))
    throw Error(NC_EINVAL, "the run with the log directory " + run->log_directory.string() +
                               " still goes on, or parts of it do: end it first");
  return *newest_run(workflow, log_directory);  // its last lines may be new
}

std::vector<FormerRun> logged_runs(const fs::path& directory) {
  std::vector<FormerRun> runs;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (!is_log(entry.path())) continue;
    FormerRun run = read_any_journal(entry.path());
    if (run.name.empty())
      take_directory(run);
    else
      run.goes_on = is_written(run, journal_file) || (run.has_record && is_written(run, step_record_file));
    runs.push_back(std::move(run));
  }
  std::ranges::sort(runs, {}, [](const FormerRun& run) { return run.run.begin_ns; });
  return runs;
}

}  // namespace sluice::coordinator
