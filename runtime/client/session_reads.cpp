// The session's side of reads that the registry offers ahead: docs/design/offers.md.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/send_time.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

namespace {

using Clock = std::chrono::steady_clock;
using State = OfferPage::State;

/// To sleep and to be woken takes longer than a small step. Who has waited for long does so again.
constexpr std::chrono::microseconds time_before_sleep{40}, time_before_sleep_between_small_steps{200};

void sleep_at(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::nanoseconds most) noexcept {
  const timespec limit{0, std::max<long>(most.count(), 1)};
  (void)::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

/// All letters of a process that are in the mailbox by now.
std::vector<OfferPage::Letter> letters_of(const OfferPage& page, std::uint32_t slot, std::uint32_t rank) {
  return page.letters(slot, rank, 0, page.mail_bytes(slot, rank), std::numeric_limits<std::uint64_t>::max());
}

std::optional<std::uint32_t> slot_of_read(const OfferPage& reads, std::uint64_t step) {
  for (std::uint32_t slot = 0; slot < reads.slots(); ++slot)
    if (reads.is_offered(slot, step)) return slot;
  return std::nullopt;
}

}  // namespace

void ring(OfferPage::Bell& bell) noexcept {
  ++bell.rings;
  if (bell.sleepers == 0) return;
  (void)::syscall(SYS_futex, &bell.rings, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

/// Two pages of one group are those of two groups of writers: then the registry offers nothing.
std::optional<OffersNotice> Session::reads_of(std::uint32_t rule, const Member& member) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(offers_.rbegin(), offers_.rend(), [&](const OffersNotice& offers) {
    return offers.written != 0 && offers.rule == rule && offers.rank == member.rank &&
           offers.size == member.size;
  });
  if (found == offers_.rend()) return std::nullopt;
  return *found;
}

/// Whatever fails here, the group sends messages.
std::optional<Session::Read> Session::find_read(const DatasetKey& key, const Member& member) noexcept {
  try {
    if (is_forked_child() || member.spans_nodes || !has_shared_clock()) return std::nullopt;
    const auto notice = reads_of(key.rule, member);
    if (!notice) return std::nullopt;
    Read read;
    read.page_id = notice->page;
    read.page = segments_.mapping(notice->page, Mapping::Access::read_write);
    read.rank = member.rank;
    read.written = segments_.mapping(notice->written, Mapping::Access::read_write);
    const OfferPage reads(read.page->writable());
    const OfferPage writes(read.written->writable());
    return look_for(key, reads, writes, read) ? std::optional(std::move(read)) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

bool Session::look_for(const DatasetKey& key, const OfferPage& reads, const OfferPage& writes, Read& read) {
  OfferPage::Bell& bell = writes.bell();
  const auto begin = Clock::now();
  const auto awake = are_steps_small_ ? time_before_sleep_between_small_steps : time_before_sleep;
  for (;;) {
    const std::uint32_t rings = bell.rings;
    const auto most = time_to_look(key, reads, writes, read);
    if (!most) {
      look_time_us_ = longest_look_us;
      are_steps_small_ = Clock::now() - begin < time_before_sleep_between_small_steps;
      return true;
    }
    const auto left = *most - (Clock::now() - begin);
    if (left.count() <= 0) return false;
    while (bell.rings == rings && Clock::now() - begin < awake) std::this_thread::yield();
    if (bell.rings != rings) continue;
    ++bell.sleepers;
    sleep_at(bell.rings, rings, left);
    --bell.sleepers;
  }
}

/// A step whose read is offered still has come a moment later. Of other steps the pages do not tell: a reader
/// that is late should not look for each of them.
void Session::note_asked(std::uint32_t rule, const Member& member, std::uint64_t step) noexcept {
  try {
    const auto notice = reads_of(rule, member);
    if (!notice) return;
    const auto page = segments_.mapping(notice->page, Mapping::Access::read_write);
    const OfferPage reads(page->writable());
    look_time_us_ = slot_of_read(reads, step) ? longest_look_us : look_time_us_ / 4;
  } catch (const std::exception&) {  // the next open looks as long as this one
  }
}

/// How long to look for the step. Empty: it is found. What is copied then means something if the read can be
/// taken afterwards.
std::optional<std::chrono::microseconds> Session::time_to_look(const DatasetKey& key, const OfferPage& reads,
                                                               const OfferPage& writes, Read& read) {
  using std::chrono::microseconds;
  constexpr microseconds in_vain{0}, while_it_is_written{20'000};
  std::optional<std::uint32_t> slot;
  {
    const std::lock_guard lock(mutex_);
    std::vector<KnownKey>& known = known_keys_[read.page_id];
    known.resize(writes.slots());
    for (std::uint32_t i = 0; i < writes.slots(); ++i) {
      const auto seen = writes.look(i);
      if (seen.state != State::taken || key_of(writes, i, seen.step, known[i]) != key) continue;
      if (slot) return in_vain;  // the registry knows which one is newer
      slot = i;
      read.step = seen.step;
    }
  }
  if (!slot) return reads.first_offered() ? microseconds(look_time_us_) : in_vain;  // one may come
  const auto place = slot_of_read(reads, read.step);
  if (!place) return in_vain;
  read.slot = *place;
  if (!writes.is_complete(*slot, read.step)) return while_it_is_written;
  return copy_opened(writes, *slot, read) ? std::nullopt : std::optional(in_vain);
}

/// The dataset of the step that was taken. The process remembers what it has read.
const DatasetKey& Session::key_of(const OfferPage& writes, std::uint32_t slot, std::uint64_t step,
                                  KnownKey& known) {
  if (known.step == step) return known.key;
  known = {};
  const auto letters = letters_of(writes, slot, 0);
  if (letters.empty() || letters.front().type != MessageType::open) return known.key;
  auto created = decode<Open>(letters.front().fields);
  if (created.taken.step == step) known = {step, std::move(created.key)};
  return known.key;
}

/// What the answer to an open would say. Returns false when a letter is missing.
bool Session::copy_opened(const OfferPage& writes, std::uint32_t slot, Read& read) {
  Opened& opened = read.opened;
  opened = {};
  opened.step = read.step;
  bool has_header = false;
  bool is_apart = true;
  Fingerprint structure;
  std::vector<LogPattern> patterns;
  for (std::uint32_t rank = 0; rank < writes.ranks(); ++rank) {
    bool has_published = false;
    for (const OfferPage::Letter& letter : letters_of(writes, slot, rank)) {
      if (letter.type == MessageType::open) {
        opened.version = decode<Open>(letter.fields).version;
      } else if (letter.type == MessageType::header) {
        auto header = decode<HeaderRequest>(letter.fields);
        opened.header = std::move(header.header);
        structure = header.structure;
        if (header.version != 0) opened.version = header.version;
        has_header = true;
      } else if (letter.type == MessageType::close) {
        auto close = decode<Close>(letter.fields);
        auto* const publish = std::get_if<PublishRequest>(&close.how);
        if (publish == nullptr || publish->step != read.step) return false;
        const LogPattern& pattern = publish->pattern;
        opened.record_count = std::max({opened.record_count, publish->record_count, pattern.records_end});
        is_apart = is_apart && !pattern.reaches_below_base && pattern.base_record == 0;
        for (LogRange& range : publish->ranges) {
          range.writer = rank;
          opened.ranges.push_back(range);
        }
        patterns.push_back(pattern);
        has_published = true;
      }
    }
    if (!has_published) return false;
  }
  matcher::StepFingerprints fingerprints(structure);
  for (const LogPattern& pattern : patterns) fingerprints.add(pattern, 0);
  fingerprints.set(opened.pattern, is_apart);
  keep_known(opened.ranges);
  return has_header;
}

/// Gets of other data bring the segments.
void Session::keep_known(std::vector<LogRange>& ranges) {
  const auto is_unknown = [&](const LogRange& range) { return !segments_.knows(range.segment); };
  if (std::ranges::any_of(ranges, is_unknown)) read_notices();
  std::erase_if(ranges, is_unknown);
}

bool Session::take_read(const Read& read, const Open& request) noexcept {
  try {
    Open taken = request;
    taken.taken.step = read.step;
    taken.taken.page = read.page_id;
    const auto fields = encode(taken);
    const OfferPage page(read.page->writable());
    const std::lock_guard lock(taking_);
    return page.take(read.slot, read.step, MessageType::open, fields, send_time());
  } catch (const std::exception&) {
    return false;
  }
}

/// A page that is quiet is looked at soon.
void Session::close(const Read& read, const ReadEnd& request) {
  forget_opened(request.step);
  const OfferPage page(read.page->writable());
  const auto fields = encode(Close{request});
  if (!page.post(read.slot, read.rank, MessageType::close, fields, send_time()))
    post(MessageType::close, fields);
  if (!page.leave(read.slot, read.step)) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  OfferPage::Bell& bell = OfferPage(read.written->writable()).bell();
  if (bell.is_quiet == 0) tell_of_mail(bell);
}

}  // namespace sluice::runtime
