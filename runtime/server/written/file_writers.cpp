#include "file_writers.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "memory_file.hpp"
#include "sluice/runtime/run_processes.hpp"

namespace sluice::runtime {

namespace {

/// A process tells what it may have changed; what was told before, or nothing, counts, too.
void add_changes(std::optional<ByteRanges>& all, const FileHolder& note) {
  const bool is_known =
      note.changed && note.files.size() == 1 && note.changed->size() % 2 == 0 && !note.holds;
  if (!is_known) all.reset();
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  for (std::size_t i = 0; all && i < note.changed->size(); i += 2) {
    const std::uint64_t begin = std::min((*note.changed)[i], most),
                        end = std::min((*note.changed)[i + 1], most);
    const storage::FileRange range{static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)};
    if (begin < end) all = united(*all, {range});
  }
}

}  // namespace

FileWriters::FileWriters(boost::asio::io_context& loop, TakeSent take_sent, Receiver receiver)
    : loop_(loop),
      take_sent_(std::move(take_sent)),
      receiver_(std::move(receiver)),
      watch_(loop, [this](int watch) { closed(watch); }) {}

void FileWriters::add(FileId file, const FileBytes& bytes) {
  Writers writers{bytes.file, bytes.is_told};
  const auto facts = status_of(*bytes.file);
  writers.identity = {facts.st_dev, facts.st_ino};
  writers.watch =
      bytes.is_in_place || bytes.is_adopted ? watch_.add(*bytes.file) : watch_.add_later(*bytes.file);
  if (bytes.base != nullptr && file_size(*bytes.base) >= SpareFiles::least_bytes)
    watch_.ask_early(writers.watch);
  by_watch_.emplace(writers.watch, file);
  files_.emplace(file, std::move(writers));
}

void FileWriters::remove(FileId file) noexcept {
  const auto ended = files_.extract(file);
  if (ended.empty()) return;
  watch_.remove(ended.mapped().watch);
  by_watch_.erase(ended.mapped().watch);
}

FileWriters::Writers* FileWriters::find(FileId file) {
  const auto found = files_.find(file);
  return found == files_.end() ? nullptr : &found->second;
}

void FileWriters::note_given(FileId file, std::uint32_t process, bool by_word) {
  Writers& writers = files_.at(file);
  writers.counts_by_word = writers.counts_by_word || by_word;
  writers.is_given = true;
  writers.holders.push_back(process);
}

bool FileWriters::is_open(const Writers& writers) {
  if (writers.is_told && is_open_for_writing(*writers.bytes)) return true;
  if (writers.is_told && !writers.counts_by_word) return false;
  return std::ranges::any_of(writers.holders, is_going_on);
}

bool FileWriters::are_asked(FileId file) const {
  const auto found = files_.find(file);
  return found != files_.end() && found->second.are_asked;
}

void FileWriters::trust_holders(FileId file) {
  if (Writers* const writers = find(file)) writers->is_told = false;
}

/// A process tells when it has closed a file, so that is known before the kernel tells.
void FileWriters::note(std::uint32_t process, const FileHolder& note) {
  std::vector<FileId> left;
  for (auto& [file, writers] : files_) {
    if (std::ranges::find(note.files, writers.identity) == note.files.end()) continue;
    add_changes(writers.changed, note);
    std::erase(writers.holders, process);
    std::erase(writers.heirs, process);
    if (note.holds) writers.holders.push_back(process);
    if (note.is_by_exec) writers.heirs.push_back(process);
    const bool has_closed = !note.holds && !note.is_by_exec && writers.is_given;
    if (has_closed && writers.is_told) is_open(writers) ? doubt(file, writers) : left.push_back(file);
  }
  settle_left(left);
}

void FileWriters::note_left(std::uint32_t process) {
  std::vector<FileId> left;
  for (auto& [file, writers] : files_) {
    const bool has_held = std::erase(writers.holders, process) + std::erase(writers.heirs, process) > 0;
    if (has_held) writers.changed.reset();
    if (has_held && writers.is_given && writers.is_told)
      is_open(writers) ? doubt(file, writers) : left.push_back(file);
  }
  settle_left(left);
}

void FileWriters::settle_left(const std::vector<FileId>& left) {
  for (const FileId file : left) {
    const Writers* const writers = find(file);
    if (writers != nullptr && !writers->are_asked) settle(file);
  }
}

void FileWriters::take_news() {
  if (!files_.empty()) watch_.take_news();
  // Who asks now may have seen the end of who was just closing them.
  for (const FileId file : std::exchange(doubtful_, {})) {
    look(file);
    if (const Writers* const left = find(file); left != nullptr && left->doubt != 0)
      doubtful_.push_back(file);
  }
}

void FileWriters::look(FileId file) {
  const Writers* const writers = find(file);
  const bool is_untold = writers != nullptr && writers->is_given && !writers->are_asked;
  if (is_untold && !is_open(*writers)) settle(file);
}

void FileWriters::closed(int watch) {
  const auto found = by_watch_.find(watch);
  if (found == by_watch_.end()) return;
  Writers& writers = files_.at(found->second);
  if (writers.are_asked || !writers.is_given) return;
  is_open(writers) ? doubt(found->second, writers) : settle(found->second);
}

/// The kernel and the process tell of a close a moment before nobody can write any more, and not again after
/// that. The kernel tells nothing of a close that is just being made when it begins to watch.
void FileWriters::doubt(FileId file, Writers& writers) {
  if (writers.doubt == 0) doubtful_.push_back(file);
  writers.doubt = ++last_doubt_;
  look_again(file, writers.doubt, std::chrono::microseconds(50));
}

void FileWriters::look_again(FileId file, std::uint64_t doubt, std::chrono::microseconds after) {
  static constexpr std::chrono::seconds longest(2);
  const auto timer = std::make_shared<boost::asio::steady_timer>(loop_, after);  // shared with its wait
  timer->async_wait([this, timer, file, doubt, after](const boost::system::error_code& error) {
    const Writers* const writers = find(file);
    if (error || writers == nullptr || writers->doubt != doubt) return;
    if (!writers->are_asked && !is_open(*writers)) return settle(file);
    // Where the kernel does not tell, the end of a process is not told either.
    if (after < longest || !writers->is_told)
      look_again(file, doubt, std::min<std::chrono::microseconds>(2 * after, longest));
  });
}

/// Nobody can write. What its processes have said before comes first; what they open now, later.
void FileWriters::settle(FileId file) {
  Writers& begun = files_.at(file);
  begun.doubt = 0;
  begun.are_asked = true;
  News news{file};
  if (!ask(file, news)) return;
  files_.at(file).are_asked = false;
  receiver_(news);
}

/// False: the file was removed meanwhile.
bool FileWriters::ask(FileId file, News& news) {
  const Writers& begun = files_.at(file);
  std::vector<std::uint32_t> concerned = begun.holders;
  concerned.insert(concerned.end(), begun.heirs.begin(), begun.heirs.end());
  if (!concerned.empty()) take_sent_(concerned);
  bool is_known = concerned.empty();  // that nobody can write
  for (;;) {
    Writers* const writers = find(file);
    if (writers == nullptr) return false;
    if (!std::exchange(is_known, false) && is_open(*writers)) {
      news.verdict = Verdict::goes_on;
      return true;
    }
    const auto ended = std::ranges::find_if_not(writers->holders, is_going_on);
    if (ended == writers->holders.end()) {
      if (!writers->holders.empty() || !writers->heirs.empty())
        writers->changed.reset();  // they said nothing
      if (writers->changed) news.touched = std::make_shared<const ByteRanges>(*writers->changed);
      writers->holders.clear();
      writers->heirs.clear();
      writers->is_given = false;
      writers->counts_by_word = false;
      return true;
    }
    // A process that leaves its files in order says so before it ends.
    const std::array<std::uint32_t, 1> process{*ended};
    take_sent_(process);
    const Writers* const left = find(file);
    if (left == nullptr) return false;
    if (std::ranges::find(left->holders, process.front()) == left->holders.end()) continue;
    news.verdict = Verdict::killed;
    news.process = process.front();
    return true;
  }
}

}  // namespace sluice::runtime
