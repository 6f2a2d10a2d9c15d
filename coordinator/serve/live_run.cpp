#include "live_run.hpp"

#include <fcntl.h>

#include <algorithm>
#include <fstream>

#include "fields.hpp"
#include "format.hpp"
#include "json_writer.hpp"
#include "live_page.hpp"
#include "recorded_run.hpp"
#include "report_page.hpp"
#include "sluice/formats/error.hpp"
#include "status_text.hpp"

namespace sluice::coordinator {
namespace {

/// The last lines of the event log.
std::vector<std::string> last_events(const std::filesystem::path& log_directory) {
  constexpr std::streamoff most_bytes = 6000;
  constexpr std::size_t most_lines = 30;
  std::ifstream log(log_directory / "events.log", std::ios::binary | std::ios::ate);
  const std::streamoff all = log ? std::streamoff(log.tellg()) : 0;
  log.seekg(std::max<std::streamoff>(0, all - most_bytes));
  std::vector<std::string> lines;
  std::string line;
  if (all > most_bytes) std::getline(log, line);  // its beginning is missing
  while (std::getline(log, line)) lines.push_back(line);
  if (lines.size() > most_lines) lines.erase(lines.begin(), lines.end() - most_lines);
  return lines;
}

/// Of a file that a run has left: "on disk"; "changed" after its end, by somebody else; or "gone".
std::string state_of(const std::string& path, std::filesystem::file_time_type end_of_run) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  return error ? "gone" : time > end_of_run + std::chrono::seconds{1} ? "changed" : "on disk";
}

bool is_there(const std::string& path) {
  std::error_code none;
  return std::filesystem::exists(path, none);
}

/// `end_of_run`: null while it goes on.
void write_files(JsonWriter& json, const std::vector<runtime::PublishedFile>& files,
                 const std::filesystem::file_time_type* end_of_run) {
  constexpr std::size_t most_files = 200;
  json.key("published").begin_list();
  for (std::size_t i = 0; i < std::min(files.size(), most_files); ++i) {
    json.begin_object()
        .member("name", files[i].name)
        .member("path", files[i].path)
        .member("rule", files[i].key.rule)
        .member("publication", files[i].publication)
        .member("age_ms", files[i].age_ms)
        .member("state", end_of_run != nullptr ? state_of(files[i].path, *end_of_run) : "published")
        .end_object();
  }
  json.end_list();
}

/// Empty: it is not in the address.
std::string value_of(const WebRequest& request, const char* key) {
  const auto found = request.query.find(key);
  return found == request.query.end() ? std::string() : found->second;
}

bool goes_on(const RunRecord& run) {
  const std::vector<RunRecord> runs = find_runs();
  return std::ranges::find(runs, run.log_directory, &RunRecord::log_directory) != runs.end();
}

}  // namespace

runtime::Observer& LiveRun::observer() {
  if (!observer_) observer_ = runtime::observe(run_.socket);
  return *observer_;
}

const std::vector<runtime::PublishedFile>& LiveRun::files() {
  constexpr std::chrono::milliseconds fresh{300};
  const auto now = std::chrono::steady_clock::now();
  if (record_ || (!files_.empty() && now - files_time_ < fresh)) return files_;
  files_ = observer().list({}).files;
  files_time_ = now;
  std::ranges::sort(files_, std::ranges::greater(), &runtime::PublishedFile::publication);
  return files_;
}

const runtime::PublishedFile& LiveRun::find(const WebRequest& request) {
  const std::string path = value_of(request, "path"), rule = value_of(request, "rule");
  const auto found = std::ranges::find_if(files(), [&](const runtime::PublishedFile& file) {
    return path.empty() ? std::to_string(file.key.rule) == rule && (!record_ || is_there(file.path))
                        : file.path == path;
  });
  if (found != files_.end()) return *found;
  throw Error(NC_ENOENT,
              path.empty() ? "no file of this rule is there now" : path + " is not there any more");
}

StepFile LiveRun::open(const runtime::PublishedFile& file) {
  runtime::FileImage image;
  image.made.path = file.path;
  if (!record_) image = observer().image(file.key, file.path);
  // another file may have its place by now, even a FIFO, which nobody writes
  if (!image.file) image.file.reset(::open(image.made.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!image.file) throw IoError(NC_ENOENT, errno, image.made.path, "open");
  return {std::move(image.file), file.path};
}

std::string LiveRun::state() {
  runtime::RunView view = observer().watch({});
  const ProcessStates states = own_states(sample_processes(run_.socket), view);
  status_ = status_as_json(view, run_.name, run_.process, earlier_, states);
  earlier_ = std::move(view);
  JsonWriter more;
  more.member("state", "running")
      .member("began", static_cast<std::int64_t>(run_.began))
      .member("flow", run_.flow);
  write_files(more, files(), nullptr);
  more.member("events", last_events(run_.log_directory));
  return "{\"status\":" + status_ + "," + more.text() + "}";
}

bool LiveRun::has_ended() {
  if (observer_ && !observer_->is_alive()) observer_.reset();
  if (!record_ && (observer_ || goes_on(run_))) return false;
  read_record();
  return true;
}

/// Reads it again where the run adds its last lines.
void LiveRun::read_record() {
  std::error_code error;
  const auto time =
      std::filesystem::last_write_time(std::filesystem::path(run_.log_directory) / timeline_file, error);
  if (record_ && (error || time == record_time_)) return;
  record_time_ = time;
  record_.emplace();
  files_.clear();
  if (error) return;  // what was seen last stays
  record_ = read_timeline(run_.log_directory);
  files_ = kept_files(run_.log_directory);
  status_ = status_as_json(view_of(*record_), run_.name, run_.process, std::nullopt, {});
}

std::string LiveRun::end() {
  JsonWriter more;
  more.member("state", "ended")
      .member("text", record_->verdict.empty() ? "its end was not recorded" : record_->verdict)
      .member("began", static_cast<std::int64_t>(run_.began))
      .member("kept", files_.size())
      .key("history");
  write_history(more, *record_);
  write_files(more, files_, &record_time_);
  more.member("events", last_events(run_.log_directory));
  return "{\"status\":" + status_ + "," + more.text() + "}";
}

std::string LiveRun::news() {
  try {
    return has_ended() ? end() : state();
  } catch (const std::exception& error) {
    observer_.reset();
    JsonWriter more;
    more.member("state", "silent").member("text", error.what());
    return "{\"status\":" + status_ + "," + more.text() + "}";
  }
}

std::string LiveRun::report() const {
  const Timeline timeline = read_timeline(run_.log_directory);
  return as_page(timeline, figures_of(timeline));
}

WebAnswer LiveRun::answer(const WebRequest& request) {
  if (const WebAnswer* const part = part_of_page(request.path)) return *part;
  const bool is_report = request.path == "report";
  if (request.path != "file" && request.path != "field" && !is_report)
    return {404, {}, "there is no such page\n"};
  try {
    if (is_report) return {200, "text/html; charset=utf-8", report(), true};
    (void)has_ended();
    const StepFile file = open(find(request));
    if (request.path == "file") return {200, "application/json", describe_file(file)};
    return {200, "application/octet-stream",
            field_of(file, value_of(request, "variable"), value_of(request, "at"))};
  } catch (const Error& error) {
    const bool is_there = error.status() != NC_ENOENT;
    if (observer_ && !observer_->is_alive()) observer_.reset();
    return {is_there ? 400U : 404U, {}, printable(error.what()) + "\n"};  // with names of damaged files
  } catch (const std::exception& error) {                                 // memory, for example
    return {500, {}, std::string(error.what()) + "\n"};
  }
}

}  // namespace sluice::coordinator
