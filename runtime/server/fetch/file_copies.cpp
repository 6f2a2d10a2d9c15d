#include "file_copies.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/name_marks.hpp"

namespace sluice::runtime {

namespace {

constexpr std::uint64_t most_bytes_of_piece = 1U << 20;

/// Shared by the functions that go on with it.
struct FileCopy {
  MemoryReads& reads;
  matcher::MatcherPlace from;
  FileRange left;
  SharedFile to;
  FileWork write;
  FileCopied then;
};
using FileCopyPtr = std::shared_ptr<FileCopy>;

void go_on(const FileCopyPtr& copy);

void take(const FileCopyPtr& copy, MemoryRead read) {
  if (read.outcome.is_failure()) return copy->then(read.outcome, {});
  FileRange& left = copy->left;
  const std::uint64_t got = read.bytes.size();
  left.bytes = std::min(left.bytes, read.facts.bytes - std::min(read.facts.bytes, left.offset));
  const auto trouble = std::make_shared<int>(0);  // shared by the two functions
  const auto then = [copy, trouble, got, facts = read.facts] {
    if (*trouble != 0)
      return copy->then(
          {NC_EIO, std::string("the image of a file cannot be written: ") + std::strerror(*trouble)}, {});
    copy->left.offset += got;
    copy->left.bytes -= std::min(copy->left.bytes, got);
    got == 0 || copy->left.bytes == 0 ? copy->then({}, facts) : go_on(copy);
  };
  if (got == 0) return then();
  copy->write([trouble, offset = left.offset, to = copy->to,
               bytes = std::move(read.bytes)] { *trouble = write_range(*to, offset, bytes); },
              then);
}

void go_on(const FileCopyPtr& copy) {
  ReadMemory request;
  request.file = copy->left;
  request.file->bytes = std::min(most_bytes_of_piece, copy->left.bytes);
  copy->reads.ask(copy->from, request, [copy](MemoryRead read) { take(copy, std::move(read)); });
}

/// The tables of other nodes, by the matcher that has them.
std::map<matcher::MatcherPlace, ReadMemory> tables_elsewhere(const matcher::StepView& view,
                                                             std::uint32_t node) {
  std::map<matcher::MatcherPlace, ReadMemory> requests;
  for (const matcher::LogView& log : view.logs) {
    for (const matcher::LogSegment& table : log.tables) {
      if (matcher::node_of(table.segment) != node)
        requests[matcher::owner_of(table.segment)].tables.push_back(table.segment);
    }
  }
  return requests;
}

/// The tables that come from several matchers.
struct Gathered {
  std::size_t missing = 0;
  Outcome outcome;
  std::vector<TableCopy> tables;

  void add(const std::vector<matcher::SegmentId>& segments, MemoryRead read) {
    --missing;
    if (!read.outcome.is_failure() && read.tables.size() != segments.size())
      read.outcome = {NC_EIO, "another matcher sent fewer request tables than were asked for"};
    if (read.outcome.is_failure()) {
      outcome = std::move(read.outcome);
      return;
    }
    for (std::size_t i = 0; i < segments.size(); ++i)
      tables.push_back({segments[i], std::move(read.tables[i])});
  }
};

}  // namespace

void copy_file(MemoryReads& reads, matcher::MatcherPlace from, const FileRange& range, SharedFile to,
               FileWork write, FileCopied then) {
  go_on(std::make_shared<FileCopy>(
      FileCopy{reads, from, range, std::move(to), std::move(write), std::move(then)}));
}

void copy_open_file(MemoryReads& reads, matcher::MatcherPlace from, std::uint64_t file, bool wants_facts,
                    const OpenFileCopied& then) {
  constexpr std::uint32_t to_fill = 0600;
  const auto copy = std::make_shared<const FileDescriptor>(make_memory_file(to_fill));
  const SharedFile to = reopened(*copy, O_WRONLY);
  const auto take = [copy, to, then](const Outcome& outcome, const FileFacts& facts) {
    if (outcome.is_failure()) return then(outcome, nullptr);
    if (::ftruncate(to->number(), static_cast<off_t>(facts.bytes)) != 0)
      return then({NC_EIO, std::string("a copy of a file cannot be made: ") + std::strerror(errno)}, nullptr);
    set_facts(*copy, facts);
    then({}, copy);
  };
  copy_file(reads, from, {0, file, 0, wants_facts ? 0 : all_bytes}, to, work_at_once, take);
}

void work_at_once(const std::function<void()>& work, const std::function<void()>& then) {
  work();
  then();
}

void read_file(const std::function<SharedFile()>& open, const FileRange& range, const FileWork& read,
               MemoryReceiver receiver) {
  const auto answer = std::make_shared<MemoryRead>();  // shared by the two functions
  SharedFile file;
  try {
    file = open();
    if (file == nullptr) throw Error(NC_EBADID, "the file has ended, or was not written here");
    answer->facts = facts_of(*file);
  } catch (const Error& error) {
    answer->outcome = {error.status(), error.what()};
    return receiver(std::move(*answer));
  }
  const std::uint64_t end = answer->facts.bytes;
  answer->bytes.resize(std::min(range.bytes, end - std::min(end, range.offset)));
  read(
      [answer, offset = range.offset, file] {
        const int trouble = read_range(*file, offset, answer->bytes);
        if (trouble != 0)
          answer->outcome = {NC_EIO, std::string("the file cannot be read: ") + std::strerror(trouble)};
      },
      [answer, receiver = std::move(receiver)] { receiver(std::move(*answer)); });
}

void bring_tables(MemoryReads& reads, const matcher::StepView& view, std::uint32_t node,
                  const TablesReceiver& receiver) {
  const auto requests = tables_elsewhere(view, node);
  if (requests.empty()) return receiver({}, {});
  const auto gathered = std::make_shared<Gathered>();  // shared by the receivers
  gathered->missing = requests.size();
  for (const auto& [owner, request] : requests) {
    reads.ask(owner, request, [receiver, gathered, segments = request.tables](MemoryRead read) {
      gathered->add(segments, std::move(read));
      if (gathered->missing == 0) receiver(gathered->outcome, std::move(gathered->tables));
    });
  }
}

FileFacts facts_of(const FileDescriptor& file) {
  const struct stat facts = status_of(file);
  return {static_cast<std::uint64_t>(facts.st_size), facts.st_mode,        facts.st_uid,         facts.st_gid,
          matcher::names_of_mark(mark_of(file)),     facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

void set_facts(const FileDescriptor& file, const FileFacts& facts) noexcept {
  struct stat wanted {};
  wanted.st_uid = facts.user;
  wanted.st_gid = facts.group;
  wanted.st_atim = wanted.st_mtim = {facts.changed_s, facts.changed_ns};
  set_owner(file, wanted);
  (void)::fchmod(file.number(), mode_of(facts.mode));
  set_times(file, wanted);
  mark(file, matcher::mark_of_names(facts.names));
}

}  // namespace sluice::runtime
