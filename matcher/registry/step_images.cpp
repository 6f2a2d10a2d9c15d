#include "step_images.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "registry_parts.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::matcher {

namespace {

/// The size of the file that the step stands for.
std::uint64_t file_bytes_of(const Step& step) {
  formats::Header header;
  if (!step.header.empty()) header = formats::decode_metadata(step.header, step.name);
  header.version = static_cast<formats::Version>(step.version);
  header.record_count = header.record_dimension() < 0 ? 0 : step.records_for_readers();
  const auto layout = formats::layout_of(header, formats::encoded_size(header));
  return static_cast<std::uint64_t>(formats::file_bytes(header, layout));
}

}  // namespace

bool StepImages::ask(const Ticket& ticket, const Process& process, StepId id) {
  const Group* const group = parts_.datasets.reader(process, id).group;
  if (group == nullptr)
    throw Error(NC_EBADID, process.name() + " does not have step " + std::to_string(id) + " open");
  Step& step = parts_.datasets.step(id);
  if (step.state == StepState::discarded) throw Error(NC_EIO, step.reason);
  const MatcherPlace place = parts_.place_of(ticket, process);
  const std::uint32_t node = place.node;
  const bool sees_all = step.state == StepState::in_progress && group->which == Open::Which::growing;
  if (step.state == StepState::in_progress && !sees_all && step.publish_at != PublishAt::sync) {
    // Not before all has been put: a reader of a file cannot wait for single elements.
    const std::string text = parts_.names.quoted(step.key) + " (all of it, to read it as a file)";
    parts_.get_waits.begin({ticket, process.id, step.id, text, parts_.now_ms(), true});
    return true;
  }
  if (sees_all) {
    ++step.revision;  // puts are not told
  } else {
    parts_.spare_images.want_on(node);
    asked_by_[step.key.rule].insert(place);
  }
  const StepImage::Reader reader{ticket, process.id, step.revision, sees_all};
  const auto known = step.images.find(node);
  if (known == step.images.end()) return begin(step, place, &reader);
  StepImage& image = known->second;
  if (image.is_ready && (image.revision != step.revision || image.shows_all)) {  // the step has grown since
    step.images.erase(known);
    return begin(step, place, &reader);
  }
  if (image.is_ready) {
    parts_.answers.image_ready(ticket, step, image);
    return false;
  }
  image.waiting.push_back(reader);
  return image.file.empty() && parts_.memory_waits.join_image_wait(id, node, {process.id, ticket.connection});
}

/// An image without a reader is made only where there is memory.
bool StepImages::begin(Step& step, MatcherPlace place, const StepImage::Reader* reader) {
  StepImage& image = step.images[place.node];
  image.revision = step.revision;
  image.shows_all = reader != nullptr && reader->sees_all;
  try {
    image.bytes = step.file_bytes.value_or(0);
    if (!step.file_bytes) image.bytes = file_bytes_of(step);
    if (image.shows_all)  // its puts may have made records that nobody was told of
      for (const auto& [node, bytes] : step.staged_bytes()) image.bytes += bytes;
    if (reader != nullptr) image.waiting.push_back(*reader);
    const InboundSize size{image.bytes, 0, reader == nullptr, SegmentUse::image};
    if (reader == nullptr) return parts_.memory_waits.lease_inbound({}, step.id, place, size, std::nullopt);
    return parts_.memory_waits.lease_inbound(reader->ticket, step.id, place, size,
                                             InboundReader{reader->process, reader->ticket.connection});
  } catch (const Error& error) {
    refuse(step, place.node, error.status(), error.what());
    return false;
  }
}

void StepImages::refuse(Step& step, std::uint32_t node, int status, const std::string& text) {
  const auto found = step.images.find(node);
  if (found == step.images.end()) return;
  const std::vector<StepImage::Reader> waiting = std::move(found->second.waiting);
  step.images.erase(found);
  if (waiting.empty()) return;
  parts_.answers.event(parts_.names.quoted(step.key) + " cannot be read as a file: " + text);
  for (const StepImage::Reader& reader : waiting) parts_.answers.refused(reader.ticket, status, text);
}

/// Who has asked when the step had grown already gets another image.
bool StepImages::note_made(StepId id, SegmentId file, const DrainOutcome& outcome) {
  Step* const step = parts_.datasets.find_step(id);
  const std::uint32_t node = node_of(file);
  if (step == nullptr) return false;
  const auto found = step->images.find(node);
  if (found == step->images.end() || found->second.file.empty() || found->second.file.id() != file)
    return false;
  bool waits = false;
  if (outcome.status != NC_NOERR) {
    refuse(*step, node, outcome.status, outcome.text);
  } else {
    StepImage& image = found->second;
    image.is_ready = true;
    image.bytes = outcome.bytes;
    parts_.spare_images.add(*step, node);
    std::vector<StepImage::Reader> late;
    for (StepImage::Reader& reader : std::exchange(image.waiting, {})) {
      if (reader.revision > image.revision || reader.sees_all != image.shows_all) {
        late.push_back(reader);
      } else {
        parts_.answers.image_ready(reader.ticket, *step, image);
      }
    }
    if (!late.empty()) {
      step->images.erase(found);
      waits = begin(*step, owner_of(file), &late.front());
      if (const auto again = step->images.find(node); again != step->images.end())
        again->second.waiting.insert(again->second.waiting.end(), late.begin() + 1, late.end());
    }
  }
  parts_.retention.review(*step);
  while (Step* const surplus = parts_.spare_images.take_surplus(node))
    parts_.retention.drop_image(*surplus, node);
  return waits;
}

void StepImages::note_published(Step& step) {
  answer_waiting(step);
  for (const MatcherPlace place : std::exchange(asked_by_[step.key.rule], {})) {
    if (!step.images.contains(place.node)) (void)begin(step, place, nullptr);
  }
}

void StepImages::answer_waiting(const Step& step) {
  std::vector<GetWait> waiting;
  std::ranges::copy_if(parts_.get_waits.all(), std::back_inserter(waiting),
                       [&](const GetWait& wait) { return wait.is_for_image && wait.step == step.id; });
  for (const GetWait& wait : waiting) {
    parts_.get_waits.end(wait.ticket);
    try {
      (void)ask(wait.ticket, parts_.processes.at(wait.process), step.id);
    } catch (const Error& error) {
      parts_.answers.refused(wait.ticket, error.status(), error.what());
    }
  }
}

}  // namespace sluice::matcher
