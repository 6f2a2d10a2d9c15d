#include "sluice/storage/step_record.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/tab_line.hpp"

namespace sluice::storage {
namespace {

constexpr std::string_view first_line = "sluice-steps\t2";
/// A record is written anew when it has grown by that much, and to twice its size.
constexpr std::int64_t least_growth_bytes = std::int64_t{1} << 20;

std::optional<std::uint64_t> number_in(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || rest != end) return std::nullopt;
  return number;
}

/// The longest decimal number.
constexpr std::size_t most_digits = 20;

void append_cell(std::string& line, std::uint64_t number) {
  std::array<char, most_digits> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  line.append(digits.data(), end);
}

void append_cell(std::string& line, std::string_view text) {
  const auto is_special = [](char c) { return c == '\t' || c == '\n' || c == '\\'; };
  if (std::ranges::none_of(text, is_special)) {
    line.append(text);
  } else {
    line += encode_cell(text);
  }
}

/// A line is made for each step several times, so its cells are written one behind the other.
template <class... Cells>
std::string line_of(std::string_view kind, const Cells&... cells) {
  std::string line;
  constexpr std::size_t usual_bytes = 240;
  line.reserve(usual_bytes);
  line.append(kind);
  ((line += '\t', append_cell(line, cells)), ...);
  line += '\n';
  return line;
}

std::string line_of_begin(std::uint64_t step, const RecordedStep& facts) {
  return line_of("begin", step, facts.rule, facts.name, facts.path);
}

std::string line_of_publication(std::uint64_t step, const RecordedPublication& facts) {
  return line_of("published", step, facts.version, facts.number, facts.stream_number);
}

RecordedPublication publication_of(const RecordedStep& facts) {
  return {facts.version, facts.number, facts.stream_number};
}

std::string line_of_file(std::uint64_t step, const std::string& file) {
  return line_of("file", step, file);
}

std::string line_of_reader(std::uint64_t step, const std::string& reader) {
  return line_of("read", step, reader);
}

std::string line_of_unnamed(std::uint64_t step, std::uint64_t steps) {
  return line_of("unnamed", step, steps);
}

std::string text_of(const StepRecord& record) {
  std::string text = std::string(first_line) + '\n';
  for (const std::string& directory : record.log_directories) text += line_of("logs", directory);
  for (const auto& [sequence, steps] : record.counts)
    text += line_of("counted", sequence.rule, sequence.name, steps);
  if (record.unnamed > 0) text += line_of_unnamed(0, record.unnamed);
  for (const auto& [step, facts] : record.steps) text += line_of_begin(step, facts);
  for (const std::uint64_t step : record.published()) {
    const RecordedStep& facts = record.steps.at(step);
    text += line_of_publication(step, publication_of(facts));
    if (!facts.file.empty()) text += line_of_file(step, facts.file);
    for (const std::string& reader : facts.readers) text += line_of_reader(step, reader);
  }
  return text;
}

/// Makes the pages of a mapping ahead: all at once cost a fraction of one fault each.
void populate(std::span<std::byte> memory) noexcept {
#ifdef MADV_POPULATE_WRITE
  if (!memory.empty()) (void)::madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE);
#else
  (void)memory;
#endif
}

std::span<const std::byte> bytes_in(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string contents_of(FileSystem& files, const std::string& path) {
  const auto file = files.open(path, OpenMode::read);
  std::string text(static_cast<std::size_t>(file->size_bytes()), '\0');
  text.resize(file->read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace

void StepRecord::take(std::string_view line) {
  const std::vector<std::string> cells = decode_cells(line);
  if (cells.front() == "logs" && cells.size() == 2) {
    log_directories.insert(cells[1]);
    return;
  }
  if (cells.front() == "counted" && cells.size() == 4) {
    const auto rule = number_in(cells[1]), count = number_in(cells[3]);
    if (rule && count) counts[{static_cast<std::uint32_t>(*rule), cells[2]}] = *count;
    return;
  }
  const auto step = cells.size() > 1 ? number_in(cells[1]) : std::nullopt;
  if (!step) return;
  if (cells.front() == "unnamed" && cells.size() == 3) {
    unnamed = number_in(cells[2]).value_or(unnamed);
    steps.erase(*step);
    return;
  }
  if (cells.front() == "begin" && cells.size() == 5) {
    if (const auto rule = number_in(cells[2]))
      steps.try_emplace(*step, RecordedStep{static_cast<std::uint32_t>(*rule), cells[3], cells[4]});
    return;
  }
  const auto found = steps.find(*step);
  if (found == steps.end()) return;
  if (cells.front() == "gone") {
    steps.erase(found);
    return;
  }
  if (cells.front() == "published" && cells.size() == 5) {
    const auto version = number_in(cells[2]), number = number_in(cells[3]), in_stream = number_in(cells[4]);
    if (version && number && in_stream)
      publish(found->second, {static_cast<std::uint8_t>(*version), *number, *in_stream});
    return;
  }
  if (cells.size() != 3) return;
  if (cells.front() == "file") {
    found->second.file = cells[2];
  } else if (cells.front() == "read") {
    found->second.readers.insert(cells[2]);
  }
}

void StepRecord::publish(RecordedStep& step, const RecordedPublication& publication) {
  step.version = publication.version;
  step.number = publication.number;
  step.stream_number = publication.stream_number;
  if (!step.is_published()) step.publication = ++publications;
  note_count({step.rule, {}}, step.number);
  if (step.stream_number > 0) note_count({step.rule, step.name}, step.stream_number);
}

void StepRecord::publish_next(RecordedStep& step, bool is_stream) {
  const std::uint64_t in_stream = is_stream ? counts[{step.rule, step.name}] + 1 : 0;
  publish(step, {step.version, counts[{step.rule, {}}] + 1, in_stream});
}

void StepRecord::note_count(const Sequence& sequence, std::uint64_t number) {
  std::uint64_t& count = counts[sequence];
  count = std::max(count, number);
}

std::vector<std::uint64_t> StepRecord::published() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [step, facts] : steps)
    if (facts.is_published()) numbers.push_back(step);
  std::ranges::sort(numbers, {}, [&](std::uint64_t step) { return steps.at(step).publication; });
  return numbers;
}

StepRecord read_step_record(FileSystem& files, const std::string& path) {
  const std::string text = contents_of(files, path);
  std::string_view rest = text;
  StepRecord record;
  bool is_first = true;
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    const std::string_view line = rest.substr(0, end);
    if (is_first && line != first_line) break;
    if (!is_first) record.take(line);
    is_first = false;
    rest.remove_prefix(end + 1);
  }
  if (is_first) throw FormatError(NC_ENOTNC, path, 0, "this is no record of steps");
  return record;
}

void write_step_record(FileSystem& files, const std::string& path, const StepRecord& record) {
  const std::string partial = path + ".part";
  const std::string text = text_of(record);
  if (files.exists(partial)) files.remove(partial);
  const auto file = files.open(partial, OpenMode::create_private);
  try {
    file->write(0, bytes_in(text));
    file->sync();
    file->close();
    files.rename(partial, path);
  } catch (const IoError&) {
    remove_quietly(files, partial);  // the disk may be full
    throw;
  }
  files.sync_directory(directory_of(path));
}

void sync_step_record(const std::string& path) noexcept {
  try {
    PosixFileSystem().open(path, OpenMode::update)->sync();
  } catch (const std::exception&) {
    // The system writes it to storage later.
  }
}

/// The last line may be torn, and zero bytes may follow it: what is added begins a line.
void note_recovered(FileSystem& files, const std::string& path, std::uint64_t number,
                    const RecordedStep& step) {
  const std::string text =
      "\n" + line_of_publication(number, publication_of(step)) + line_of_file(number, step.file);
  const auto record = files.open(path, OpenMode::update);
  record->write(record->size_bytes(), bytes_in(text));
  record->sync();
}

StepRecorder::StepRecorder(FileSystem& files, std::string path, std::vector<RecordedRule> rules)
    : files_(files), path_(std::move(path)), rules_(std::move(rules)) {
  record_ = read_step_record(files_, path_);
  std::erase_if(record_.steps, [&](const auto& entry) { return entry.second.rule >= rules_.size(); });
  for (const auto& [step, facts] : record_.steps) index(step);
  try {
    compact();
  } catch (const IoError& error) {  // a full disk: what was read is there, and nothing follows it
    failure_ = error.what();
    lock();
  }
}

StepRecorder::~StepRecorder() {
  if (memory_.empty()) return;
  try {
    (void)file_->map(0);
    file_->resize(size_bytes_);
    file_->sync();
  } catch (const Error&) {
    // Readers skip the zero bytes behind the last line.
  }
}

void StepRecorder::lock() {
  lock_ = files_.open(path_, OpenMode::read);
  (void)lock_->try_lock();
}

void StepRecorder::index(std::uint64_t step) {
  const RecordedStep& facts = record_.steps.at(step);
  by_key_[{facts.rule, facts.name}].insert(step);
  if (!rules_[facts.rule].latest_readers.empty()) by_rule_[facts.rule].insert(step);
}

void StepRecorder::begin(std::uint64_t step, const RecordedStep& facts) {
  if (facts.rule >= rules_.size() || !record_.steps.try_emplace(step, facts).second) return;
  index(step);
  add(line_of_begin(step, facts));
  const bool is_in_files = rules_[facts.rule].is_in_files;
  if (!is_in_files && left_.empty()) return;
  for (const std::uint64_t other : others_of(step)) {
    const bool is_unpublished = left_.contains(other) && !record_.steps.at(other).is_published();
    if (is_in_files || is_unpublished)
      drop(other);  // in files, the writer changes the file of the earlier step
  }
}

/// Steps of the same file.
std::vector<std::uint64_t> StepRecorder::others_of(std::uint64_t step) const {
  const RecordedStep& facts = record_.steps.at(step);
  const auto& steps = by_key_.at({facts.rule, facts.name});
  std::vector<std::uint64_t> others;
  std::ranges::copy_if(steps, std::back_inserter(others), [&](std::uint64_t each) { return each != step; });
  return others;
}

void StepRecorder::publish(std::uint64_t step, const RecordedPublication& publication) {
  const auto found = record_.steps.find(step);
  if (found == record_.steps.end()) return;
  const RecordedRule& rule = rules_[found->second.rule];
  RecordedPublication facts = publication;
  if (!rule.is_stream) facts.stream_number = 0;
  record_.publish(found->second, facts);
  add(line_of_publication(step, facts));
  if (!rule.is_stream) {
    for (const std::uint64_t other : others_of(step))
      if (record_.steps.at(other).is_published()) drop(other);
  }
  if (!rule.latest_readers.empty()) pass_earlier(step);
  if (rule.is_in_files) note_file(step, found->second.path);
}

/// Who takes the newest step alone needs those before it no longer.
void StepRecorder::pass_earlier(std::uint64_t step) {
  const RecordedStep& facts = record_.steps.at(step);
  const RecordedRule& rule = rules_[facts.rule];
  const auto& steps = rule.is_stream ? by_key_.at({facts.rule, facts.name}) : by_rule_.at(facts.rule);
  for (auto next = steps.begin(); next != steps.end();) {
    const std::uint64_t other = *next++;  // first: the step may be dropped below
    if (other == step || !record_.steps.at(other).is_published()) continue;
    for (const std::string& reader : rule.latest_readers) read(other, reader);
  }
}

void StepRecorder::read(std::uint64_t step, const std::string& reader) {
  const auto found = record_.steps.find(step);
  if (found == record_.steps.end() || !found->second.readers.insert(reader).second) return;
  if (is_read_by_all(found->second)) return drop(step);
  add(line_of_reader(step, reader));
}

/// What is on disk may be opened again, unless opens go on to later steps.
bool StepRecorder::is_read_by_all(const RecordedStep& facts) const {
  const RecordedRule& rule = rules_[facts.rule];
  const bool is_on_disk = rule.is_kept || !facts.file.empty();
  return is_over(facts) && (!is_on_disk || rule.is_stream);
}

/// Published, and read by all its readers.
bool StepRecorder::is_over(const RecordedStep& facts) const {
  return facts.is_published() &&
         std::ranges::all_of(rules_[facts.rule].readers,
                             [&](const std::string& reader) { return facts.readers.contains(reader); });
}

void StepRecorder::note_file(std::uint64_t step, const std::string& file) {
  const auto found = record_.steps.find(step);
  if (found == record_.steps.end()) return;
  for (const std::uint64_t other : others_of(step)) {
    RecordedStep& facts = record_.steps.at(other);
    if (facts.file != file) continue;
    facts.file.clear();
    add(line_of_file(other, {}));
  }
  found->second.file = file;
  add(line_of_file(step, file));
}

void StepRecorder::erase(std::uint64_t step) {
  const auto found = record_.steps.find(step);
  if (found == record_.steps.end() || !found->second.file.empty()) return;
  if (is_over(found->second)) return drop(step);
  left_.insert(step);
  shorten_left();
}

void StepRecorder::shorten_left() {
  if (left_.size() <= most_left) return;
  const std::uint64_t oldest = *left_.begin();
  forget(oldest);
  add(line_of_unnamed(oldest, ++record_.unnamed));
}

void StepRecorder::give_up(std::uint64_t step) {
  const auto found = record_.steps.find(step);
  if (found != record_.steps.end() && !found->second.is_published()) drop(step);
}

void StepRecorder::writer_done(std::uint32_t rule) {
  for (const std::uint64_t step : std::set(left_))
    if (record_.steps.at(step).rule == rule) give_up(step);
}

void StepRecorder::remove(std::uint32_t rule, const std::string& name) {
  const auto found = by_key_.find({rule, name});
  if (found == by_key_.end()) return;
  const std::set<std::uint64_t> steps = found->second;
  for (const std::uint64_t step : steps) {
    RecordedStep& facts = record_.steps.at(step);
    if (!rules_[rule].is_stream) {
      drop(step);
    } else if (facts.file == facts.path) {
      facts.file.clear();
      add(line_of_file(step, {}));
    }
  }
}

void StepRecorder::drop(std::uint64_t step) {
  forget(step);
  add(line_of("gone", step));
}

void StepRecorder::forget(std::uint64_t step) {
  const RecordedStep& facts = record_.steps.at(step);
  const auto named = by_key_.find({facts.rule, facts.name});
  named->second.erase(step);
  if (named->second.empty()) by_key_.erase(named);
  if (const auto of_rule = by_rule_.find(facts.rule); of_rule != by_rule_.end()) of_rule->second.erase(step);
  left_.erase(step);
  record_.steps.erase(step);
}

void StepRecorder::note_log_directory(const std::string& directory) {
  if (record_.log_directories.insert(directory).second) add(line_of("logs", directory));
}

/// A line in memory costs no system call, and is in the file like a written one when this process is killed.
/// The first byte comes last: a line without it is none.
bool StepRecorder::store(const std::string& line) noexcept {
  const auto at = static_cast<std::size_t>(size_bytes_);
  if (memory_.size() < line.size() || at > memory_.size() - line.size()) return false;
  auto* const place = reinterpret_cast<char*>(memory_.data() + at);
  std::memcpy(place + 1, line.data() + 1, line.size() - 1);
  std::atomic_ref(*place).store(line.front(), std::memory_order_release);
  return true;
}

/// A process that is killed leaves complete lines: each is one write.
void StepRecorder::add(const std::string& line) {
  if (!failure_.empty()) return;
  try {
    if (!store(line)) file_->write(size_bytes_, bytes_in(line));
    size_bytes_ += std::ssize(line);
    if (size_bytes_ >= compact_at_bytes_) compact();
  } catch (const Error& error) {
    failure_ = error.what();
  }
}

void StepRecorder::compact() {
  write_step_record(files_, path_, record_);
  memory_ = {};
  file_ = files_.open(path_, OpenMode::update);
  size_bytes_ = file_->size_bytes();
  compact_at_bytes_ = std::max(size_bytes_ + least_growth_bytes, 2 * size_bytes_);
  memory_ = file_->map(compact_at_bytes_);
  populate(memory_);
  lock();
}

bool is_recording(FileSystem& files, const std::string& path) {
  return !files.open(path, OpenMode::update)->try_lock();
}

}  // namespace sluice::storage
