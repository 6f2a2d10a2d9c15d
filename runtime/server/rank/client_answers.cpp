#include "client_answers.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "file_copies.hpp"
#include "shared_gets.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

namespace {

/// A process has the step open, and gets the bytes of the file that it stands for.
Open open_for_image(matcher::StepId step) {
  Open open;
  open.wants = Open::Form::bytes;
  open.taken.step = step;
  return open;
}

}  // namespace

matcher::SegmentId segment_used_by(const Reply& reply) noexcept {
  if (const auto* const opened = std::get_if<Opened>(&reply)) return opened->control;
  if (const auto* const granted = std::get_if<Granted>(&reply)) return granted->segment;
  if (const auto* const image = std::get_if<ImageReady>(&reply)) return image->file;
  return 0;
}

void ClientAnswers::take(Answer& answer) {
  const matcher::SegmentId segment = segment_used_by(answer.reply);
  if (segment == 0) return deliver(answer);
  parts_.base.neighbours.open({segment},
                              [this, answer = std::move(answer)](auto, bool) mutable { deliver(answer); });
}

void ClientAnswers::deliver(Answer& answer) {
  Client* const client = parts_.clients.find(answer.connection);
  if (client == nullptr) return;
  client->is_known_to_registry = true;
  if (answer.tag == 0) {  // nobody waits for the answer to a letter
    if (const auto* const error = std::get_if<ErrorReply>(&answer.reply))
      parts_.base.log.detail(client->name() + " is not told: " + error->text);
    return;
  }
  try {
    std::visit([&](auto& reply) { deliver(*client, answer.tag, reply); }, answer.reply);
  } catch (const Error& error) {  // no memory for the segment
    parts_.clients.send_error(*client, answer.tag, error.status(), error.what());
  }
}

void ClientAnswers::note_open(Client& client, std::uint32_t tag, matcher::StepId step) {
  client.process->note_open(step);
  if (client.opening.tag == tag) client.opening.step = step;
}

void ClientAnswers::deliver(Client& client, std::uint32_t tag, const Granted& granted) {
  parts_.segments.grant(client, tag, granted.segment);
}

/// Where another matcher has made it, its memory may have been needed meanwhile: then it is made anew.
void ClientAnswers::deliver(Client& client, std::uint32_t tag, const ImageReady& image) {
  if (image.source) return deliver_copy(client, tag, *image.source);
  if (!parts_.base.store.contains(image.file)) {
    parts_.base.tree.send_up(ClientRequest{client.id, tag, open_for_image(image.step)});
    return;
  }
  parts_.clients.send_image(client, tag, {image.bytes}, parts_.base.store.descriptor(image.file));
}

/// What there is by now. Where the file has been closed meanwhile, the registry knows more.
void ClientAnswers::deliver_copy(Client& client, std::uint32_t tag, const FileSource& source) {
  const auto look = client.image_reads.find(tag);
  if (shared_ == nullptr || look == client.image_reads.end() || !look->second.own)
    return parts_.clients.send_error(client, tag, NC_ENOENT, "another node has it open");
  const auto take = [this, id = client.id, tag](const Outcome& outcome, const SharedFile& copy) {
    Client* const looker = parts_.clients.find(id);
    if (looker == nullptr || !looker->image_reads.contains(tag)) return;
    if (outcome.status == NC_EBADID)
      return parts_.base.tree.send_up(ClientRequest{id, tag, *looker->image_reads.at(tag).own});
    outcome.is_failure() ? parts_.clients.send_error(*looker, tag, outcome.status, outcome.text)
                         : parts_.clients.send_image(*looker, tag, {}, copy);
  };
  copy_open_file(shared_->reads(), parts_.base.nodes.place_of(source.matcher), source.file,
                 look->second.wants_facts, take);
}

void ClientAnswers::deliver(Client& client, std::uint32_t tag, const Done& done) {
  parts_.clients.send(client, MessageType::done, tag, encode(done));
}

void ClientAnswers::deliver(Client& client, std::uint32_t tag, const ErrorReply& error) {
  parts_.deferred.forget(client.id, tag);
  const auto read = client.image_reads.find(tag);
  if (error.status == NC_ENOENT && read != client.image_reads.end() && read->second.own)
    return parts_.clients.send_image(client, tag, {}, nullptr);
  parts_.clients.send(client, MessageType::error, tag, encode(error));
}

void ClientAnswers::deliver(Client& client, std::uint32_t tag, const Listing& listing) {
  parts_.clients.send(client, MessageType::listing, tag, encode(listing));
}

void ClientAnswers::deliver(Client& client, std::uint32_t tag, const RunView& view) {
  parts_.clients.send(client, MessageType::run_view, tag, encode(view));
}

/// For a process that wants no more: what it gets instead of the answer to an open call.
void ClientAnswers::deliver_image(Client& client, std::uint32_t tag, const Opened& opened) {
  if (opened.step == 0) return parts_.clients.send_image(client, tag, {0, opened.path}, nullptr);
  Client::ImageRead& read = client.image_reads.at(tag);
  read.step = opened.step;
  read.grows = opened.publish_at != PublishAt::close;
  read.count = opened.stays ? parts_.base.names.of(read.path) : 0;
  const auto waited = std::chrono::steady_clock::now() - read.begin;
  read.counters.open_wait_us =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(waited).count());
  client.process->note_open(opened.step);
  if (opened.is_in_files) return parts_.clients.send_image(client, tag, {0, opened.path}, nullptr);
  if (published_.give_image(client, tag, opened.step)) return;
  // Later: the registry may be in the middle of something.
  boost::asio::post(parts_.base.loop, [this, id = client.id, tag, step = opened.step] {
    parts_.base.tree.send_up(ClientRequest{id, tag, open_for_image(step)});
  });
}

/// Holds the answer until the data that is fetched ahead for the process has arrived.
void ClientAnswers::deliver(Client& client, std::uint32_t tag, Opened& opened) {
  if (client.image_reads.contains(tag)) return deliver_image(client, tag, opened);
  const matcher::StepId step = opened.step;
  if (step == 0) return parts_.clients.send(client, MessageType::opened, tag, encode(opened));
  note_open(client, tag, step);
  if (client.opening.tag == tag && client.opening.purpose == Purpose::create) {
    if (opened.control != 0) parts_.segments.introduce(client, opened.control);
    return parts_.clients.send(client, MessageType::opened, tag, encode(opened));
  }
  OpenAnswer answer{client.id, tag, std::move(opened)};
  if (shared_ == nullptr) return finish(std::move(answer));
  shared_->when_ahead(step, [this, answer = std::move(answer)]() mutable {
    const ClientId id = answer.client;
    const std::uint32_t open = answer.tag;
    try {
      finish(std::move(answer));
    } catch (const Error& error) {
      if (Client* const waiting = parts_.clients.find(id))
        parts_.clients.send_error(*waiting, open, error.status(), error.what());
    }
  });
}

void ClientAnswers::finish(OpenAnswer answer) {
  CachedStep* const known = parts_.views.find(answer.opened.step);
  if (known == nullptr) throw Error(NC_EIO, "the registry has not described the step");
  if (!known->view->are_counted_by_tables() || answer.opened.control != 0) return tell(std::move(answer), 0);
  if (shared_ != nullptr) return count_records_of(std::move(answer));
  (void)known->updated_index(parts_.base.store, false);
  tell(std::move(answer), known->record_count());
}

/// The request tables of all matchers know the number of records.
void ClientAnswers::count_records_of(OpenAnswer answer) {
  const matcher::StepId step = answer.opened.step;
  shared_->count_records(
      step, [this, answer = std::move(answer)](const Outcome& outcome, std::int64_t records) mutable {
        Client* const client = parts_.clients.find(answer.client);
        if (client == nullptr) return;
        if (outcome.is_failure())
          return parts_.clients.send_error(*client, answer.tag, outcome.status, outcome.text);
        tell(std::move(answer), records);
      });
}

/// Adds the header, and the log ranges that the process is likely to read.
void ClientAnswers::tell(OpenAnswer answer, std::int64_t least_records) {
  Client* const client = parts_.clients.find(answer.client);
  if (client == nullptr) return;
  Opened& opened = answer.opened;
  CachedStep* const known = parts_.views.find(opened.step);
  if (known == nullptr)
    return parts_.clients.send_error(*client, answer.tag, NC_EIO, "the registry has not described the step");
  const matcher::StepView& view = *known->view;
  opened.header = view.header;
  opened.record_count = std::max(opened.record_count, least_records);
  if (view.is_continued()) {
    for (std::size_t i = view.first_own_log; i < view.logs.size(); ++i)
      opened.first_offsets.push_back(view.logs[i].first_offset);
  }
  if (view.is_final) add_known_ranges(*client, view, opened);
  std::vector<matcher::SegmentId> segments;
  if (opened.control != 0) segments.push_back(opened.control);
  for (const LogRange& range : opened.ranges) segments.push_back(range.segment);
  parts_.segments.send_with(*client, segments, MessageType::opened, answer.tag, encode(opened));
}

/// Adds the ranges on this node that the process read in earlier steps of the pattern.
void ClientAnswers::add_known_ranges(const Client& client, const matcher::StepView& view, Opened& opened) {
  const std::uint32_t node = parts_.base.node();
  for (const std::uint32_t writer : parts_.history.logs(client.process->id, {view.rule, view.pattern})) {
    if (writer >= view.logs.size()) continue;
    for (const LogRange& range : view.logs[writer].ranges) {
      if (matcher::node_of(range.segment) == node) opened.ranges.push_back(range);
    }
  }
  if (shared_ == nullptr) return;
  const auto landed = shared_->landed_for(client.process->id, view);
  opened.ranges.insert(opened.ranges.end(), landed.begin(), landed.end());
}

}  // namespace sluice::runtime
