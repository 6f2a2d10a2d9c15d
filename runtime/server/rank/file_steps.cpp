#include "file_steps.hpp"

#include <boost/asio/post.hpp>
#include <utility>
#include <vector>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/version.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

namespace {

/// Above all numbers of clients' connections.
constexpr std::uint64_t first_connection = std::uint64_t{1} << 63;

}  // namespace

FileId FileSteps::connect(const LocalProcess& process) {
  const FileId file = first_connection + ++last_file_;
  steps_[file].file = file;
  const std::string version(library_version);
  const Hello hello{protocol_version,  version, process.token, process.process_id,
                    process.component, false,   true};
  base_.tree.send_up(ClientRequest{file, 0, hello});
  return file;
}

FileSteps::Step* FileSteps::find(FileId file) {
  const auto found = steps_.find(file);
  return found == steps_.end() ? nullptr : &found->second;
}

/// Returns the tag of the answer.
std::uint32_t FileSteps::ask(Step& step, RegistryRequest request) {
  const std::uint32_t tag = ++step.last_tag;
  step.asked.insert(tag);
  base_.tree.send_up(ClientRequest{step.file, tag, std::move(request)});
  return tag;
}

void FileSteps::create(FileId file, Open request, Then then) {
  Step& step = steps_.at(file);
  step.created = std::move(then);
  ask(step, std::move(request));
}

void FileSteps::forget_step(FileId file) {
  Step& step = steps_.at(file);
  const matcher::StepId former = std::exchange(step.step, 0);
  if (former == 0) return;
  base_.tree.send_up(
      ClientRequest{file, 0, Close{Discard{former, StepEnd::untouched, "its file has another name now"}}});
}

/// Later: the registry may be in the middle of something.
bool FileSteps::take(const Answer& answer) {
  if (answer.connection < first_connection) return false;
  boost::asio::post(base_.loop, [this, answer] { go_on(answer); });
  return true;
}

void FileSteps::go_on(const Answer& answer) {
  Step* const step = find(answer.connection);
  if (step == nullptr) return;
  step->asked.erase(answer.tag);
  if (const auto* const error = std::get_if<ErrorReply>(&answer.reply)) {
    const bool is_uncounted = step->filled && answer.tag == step->bytes_tag;
    if (!is_uncounted) return fail(*step, {error->status, error->text});
    base_.log.event(step->contents.path + " does not count in staging.memory: " + error->text);
  } else if (const auto* const created = std::get_if<Opened>(&answer.reply)) {
    step->step = created->step;
    return std::exchange(step->created, {})({});
  } else if (const auto* const granted = std::get_if<Granted>(&answer.reply)) {
    step->segments[answer.tag] = granted->segment;
  }
  if (step->filled) advance(*step);
}

void FileSteps::fail(Step& step, const Outcome& outcome) {
  if (const auto created = std::exchange(step.created, {})) return created(outcome);
  if (const auto filled = std::exchange(step.filled, {})) filled(step.contents.bytes, outcome);
}

// Filling

/// The bytes count as a segment that nobody touches: in staging.memory, or on the spill disk. The puts of a
/// CDF file have segments as those of any process.
void FileSteps::fill(FileId file, Contents contents, Filled then) {
  Step& step = steps_.at(file);
  step.contents = std::move(contents);
  step.filled = std::move(then);
  if (step.contents.size > 0) step.bytes_tag = ask_segment(step, SegmentUse::file, step.contents.size);
  if (const FilePuts* const puts = step.contents.puts.get()) {
    step.table_tag = ask_segment(step, SegmentUse::table, puts->table_bytes);
    if (!puts->is_log && puts->data_bytes > 0)
      step.data_tag = ask_segment(step, SegmentUse::data, puts->data_bytes);
    formats::Header header = puts->header;
    const auto version = static_cast<std::uint8_t>(header.version);
    header.version = formats::Version::cdf5;
    ask(step,
        HeaderRequest{step.step, formats::encode_header(header), matcher::structure_of(header), version});
  }
  advance(step);
}

std::uint32_t FileSteps::ask_segment(Step& step, SegmentUse use, std::uint64_t bytes) {
  const bool is_there = use == SegmentUse::file && step.contents.bytes.is_on_disk;
  return ask(step, SegmentRequest{step.step, use, bytes, bytes, {}, false, is_there});
}

void FileSteps::advance(Step& step) {
  if (!step.asked.empty()) return;
  const FilePuts* const puts = step.contents.puts.get();
  if (puts != nullptr && puts->is_log && !may_be_log(step)) return make_ordinary_log(step);
  puts != nullptr && !puts->is_log ? write_log(step) : move_to_disk(step);
}

/// What counts on the spill disk is no memory that processes can map.
bool FileSteps::may_be_log(const Step& step) const {
  const auto counted = step.segments.find(step.bytes_tag);
  return !step.contents.bytes.is_on_disk && counted != step.segments.end() &&
         !matcher::is_spilled(counted->second);
}

void FileSteps::make_ordinary_log(Step& step) {
  step.contents.puts = std::make_shared<const FilePuts>(with_ordinary_log(*step.contents.puts));
  if (step.contents.puts->data_bytes == 0) return advance(step);
  step.data_tag = ask_segment(step, SegmentUse::data, step.contents.puts->data_bytes);
}

void FileSteps::write_log(Step& step) {
  WrittenBytes::LogMemory memory;
  try {
    if (step.data_tag != 0) {
      const matcher::SegmentId segment = step.segments.at(step.data_tag);
      memory = {base_.store.writable(segment), base_.store.keep_mapped(segment)};
    }
  } catch (const Error& error) {
    return fail(step, {NC_EIO, error.what()});
  }
  bytes_.write_log(step.contents.bytes, step.contents.puts, memory,
                   [this, file = step.file](const Outcome& outcome) {
                     Step* const written = find(file);
                     if (written == nullptr) return;
                     outcome.is_failure() ? fail(*written, outcome) : move_to_disk(*written);
                   });
}

/// Where memory was short, the bytes count on the spill disk, so they go there.
void FileSteps::move_to_disk(Step& step) {
  const auto counted = step.segments.find(step.bytes_tag);
  const bool is_spilled = counted != step.segments.end() && matcher::is_spilled(counted->second);
  if (step.contents.bytes.is_on_disk || !is_spilled) return complete(step);
  SharedFile to;
  try {
    to = base_.store.descriptor(counted->second);
  } catch (const Error& error) {
    return fail(step, {NC_EIO, error.what()});
  }
  bytes_.move_to_disk(step.contents.bytes, to,
                      [this, file = step.file](FileBytes bytes, const Outcome& outcome) {
                        Step* const moved = find(file);
                        if (moved == nullptr) return;
                        if (outcome.is_failure())
                          base_.log.event("'" + moved->contents.path + "' stays in memory: " + outcome.text);
                        moved->contents.bytes = std::move(bytes);
                        complete(*moved);
                      });
}

void FileSteps::complete(Step& step) {
  try {
    describe(step);
  } catch (const Error& error) {
    return fail(step, {NC_EIO, error.what()});
  }
  std::exchange(step.filled, {})(step.contents.bytes, {});
}

void FileSteps::describe(Step& step) {
  // The registry gives a file of this size memory of its own, which would take another descriptor.
  const std::uint64_t size = step.contents.size;
  if (size >= matcher::least_bytes_of_file_log && may_be_log(step))
    base_.store.replace_image(step.segments.at(step.bytes_tag), step.contents.bytes.file, size);
  const FilePuts* const puts = step.contents.puts.get();
  if (puts == nullptr) return;
  const std::uint32_t data_tag = puts->is_log ? step.bytes_tag : step.data_tag;
  const matcher::SegmentId data = data_tag == 0 ? 0 : step.segments.at(data_tag);
  PublishRequest& publication = step.publication;
  publication.position = write_table(*puts, data, base_.store.writable(step.segments.at(step.table_tag)));
  publication.record_count = puts->header.record_count;
  publication.pattern = puts->pattern;
  publication.extent = puts->extent;
  if (data != 0) publication.ranges.push_back({0, puts->first_offset, puts->data_bytes, data, 0});
}

// Ending

void FileSteps::publish(FileId file, const Size& size, std::uint32_t closes) {
  const auto ended = steps_.extract(file);
  PublishRequest publish = ended.mapped().publication;
  publish.step = ended.mapped().step;
  publish.counters = {1, size.written_bytes};
  publish.file_bytes = size.file_bytes;
  publish.closes = closes;
  base_.tree.send_up(ClientRequest{file, 0, Close{std::move(publish)}});
  base_.tree.send_up(ConnectionEnded{file});
}

void FileSteps::discard(FileId file, const Discard& request) {
  const auto ended = steps_.extract(file);
  Discard discard = request;
  discard.step = ended.mapped().step;
  if (discard.step != 0 || discard.end == StepEnd::lost)
    base_.tree.send_up(ClientRequest{file, 0, Close{std::move(discard)}});
  base_.tree.send_up(ConnectionEnded{file});
}

}  // namespace sluice::runtime
