#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// What is recorded when a step is published.
struct RecordedPublication {
  std::uint8_t version = 1;         ///< CDF version; 0: a file of another format
  std::uint64_t number = 0;         ///< among the published steps of its rule, from 1
  std::uint64_t stream_number = 0;  ///< among those of its stream; 0: the rule is no stream
};

/// A step in the record of a run.
struct RecordedStep {
  std::uint32_t rule = 0;
  std::string name;                    ///< the name of its dataset key
  std::string path;                    ///< the file that it stands for
  std::uint64_t publication = 0;       ///< its place among all publications, from 1; 0: it is not published
  std::uint8_t version = 1;            ///< as in RecordedPublication
  std::uint64_t number = 0;            ///< the same
  std::uint64_t stream_number = 0;     ///< the same
  std::string file = {};               ///< a file that has all of it; empty: none
  std::set<std::string> readers = {};  ///< that have read it

  [[nodiscard]] bool is_published() const noexcept { return publication > 0; }
  bool operator==(const RecordedStep&) const = default;
};

/// The record of steps (docs/formats/step-record.md): which steps a run has begun and published, who has read
/// them, and where their data is. Steps that nobody needs any more are not in it. A published step without a
/// file whose memory has gone is lost for the readers that have not read it.
struct StepRecord {
  std::map<std::uint64_t, RecordedStep> steps;  ///< by number, which is the order of their beginnings
  std::set<std::string> log_directories;        ///< directories with burst-buffer logs
  std::uint64_t publications = 0;
  std::uint64_t unnamed = 0;  ///< lost steps, and steps that were not published, beyond those in `steps`
  /// A rule, where `name` is empty, or one stream of it.
  struct Sequence {
    std::uint32_t rule = 0;
    std::string name;
    auto operator<=>(const Sequence&) const = default;
  };
  std::map<Sequence, std::uint64_t> counts;  ///< how many steps were published, with those of former runs

  /// Takes a line of the record. Ignores a line that it does not understand: the last one may be torn.
  void take(std::string_view line);
  void publish(RecordedStep& step, const RecordedPublication& publication);
  /// The same, with the next numbers.
  void publish_next(RecordedStep& step, bool is_stream);
  /// The numbers of the published steps, in the order of publication.
  [[nodiscard]] std::vector<std::uint64_t> published() const;

 private:
  void note_count(const Sequence& sequence, std::uint64_t number);
};

/// Reads a record. Throws IoError, or FormatError when the file is no record.
[[nodiscard]] StepRecord read_step_record(FileSystem& files, const std::string& path);
/// Writes a new record to storage: another file is replaced in one step. Throws IoError.
void write_step_record(FileSystem& files, const std::string& path, const StepRecord& record);

/// Brings the record to storage, as far as it is written now. A record that cannot be synced stays as it is.
void sync_step_record(const std::string& path) noexcept;

/// Adds to the record of a run that is over that the step is published, and that `step.file` has all of it.
/// Throws IoError.
void note_recovered(FileSystem& files, const std::string& path, std::uint64_t number,
                    const RecordedStep& step);

/// What a recorder needs to know of a rule.
struct RecordedRule {
  std::vector<std::string> readers;
  std::set<std::string> latest_readers = {};  ///< those that need the newest step alone
  bool is_stream = false;
  bool is_in_files = false;
  bool is_kept = false;  ///< each published step is written to its file
};

/// Writes the record while a run goes on. The record has a bounded size beside the steps that are in it. A
/// disk that is full ends the record and not the run. A process that is killed leaves zero bytes behind the
/// last line.
class StepRecorder {
 public:
  /// Goes on with the record at the path, and locks it while this object lives. A full disk is a `failure`.
  /// Throws IoError, FormatError.
  StepRecorder(FileSystem& files, std::string path, std::vector<RecordedRule> rules);
  ~StepRecorder();
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;

  [[nodiscard]] const StepRecord& record() const noexcept { return record_; }

  /// A step that is known already is left as it is.
  void begin(std::uint64_t step, const RecordedStep& facts);
  void publish(std::uint64_t step, const RecordedPublication& publication);
  void read(std::uint64_t step, const std::string& reader);
  /// The file has all of the step, and nothing of another one.
  void note_file(std::uint64_t step, const std::string& file);
  /// The memory of the step is gone. The step stays in the record where a file has it; and also where a
  /// reader has not read it or it was not published, because its processes may have been the first to be
  /// killed of all. Of these, the last `most_left` stay.
  void erase(std::uint64_t step);
  /// The step was not published, and is no loss.
  void give_up(std::uint64_t step);
  /// The same for all steps of the rule that are erased.
  void writer_done(std::uint32_t rule);
  /// The dataset was removed, with its file. Unread steps of a stream stay.
  void remove(std::uint32_t rule, const std::string& name);
  void note_log_directory(const std::string& directory);

  static constexpr std::size_t most_left = 100;

  /// Why nothing is recorded any more; empty while all is well.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 private:
  struct Key {
    std::uint32_t rule = 0;
    std::string name;
    auto operator<=>(const Key&) const = default;
  };

  void index(std::uint64_t step);
  void drop(std::uint64_t step);
  void forget(std::uint64_t step);
  [[nodiscard]] bool is_read_by_all(const RecordedStep& facts) const;
  [[nodiscard]] bool is_over(const RecordedStep& facts) const;
  void shorten_left();
  [[nodiscard]] std::vector<std::uint64_t> others_of(std::uint64_t step) const;
  void pass_earlier(std::uint64_t step);
  void add(const std::string& line);
  [[nodiscard]] bool store(const std::string& line) noexcept;
  void compact();
  void lock();

  FileSystem& files_;
  std::string path_;
  std::vector<RecordedRule> rules_;
  StepRecord record_;
  std::map<Key, std::set<std::uint64_t>> by_key_;
  std::map<std::uint32_t, std::set<std::uint64_t>> by_rule_;  ///< rules with latest_readers
  std::set<std::uint64_t> left_;                              ///< erased, and still in the record
  std::unique_ptr<File> file_;
  std::span<std::byte> memory_;  ///< the file's bytes; empty where the file system has no memory for them
  std::unique_ptr<File> lock_;
  std::int64_t size_bytes_ = 0;
  std::int64_t compact_at_bytes_ = 0;
  std::string failure_;
};

/// Whether a process writes the record.
[[nodiscard]] bool is_recording(FileSystem& files, const std::string& path);

}  // namespace sluice::storage
