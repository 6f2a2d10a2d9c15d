#include "memory_reads.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/storage/cut_guard.hpp"

namespace sluice::runtime {

namespace {

MemoryRead failure(int status, const std::string& text) {
  MemoryRead failed;
  failed.outcome = {status, text};
  return failed;
}

void append(std::span<const std::byte> segment, const MemoryRange& range, std::vector<std::byte>& bytes) {
  if (range.offset > segment.size() || range.bytes > segment.size() - range.offset) {
    throw Error(NC_EIO,
                "another matcher asks for bytes behind the end of segment " + std::to_string(range.segment));
  }
  const auto part = segment.subspan(range.offset, range.bytes);
  bytes.insert(bytes.end(), part.begin(), part.end());
}

}  // namespace

std::vector<std::byte> used_part(std::span<const std::byte> table) {
  std::uint64_t bytes = 0;
  if (table.size() < sizeof bytes) return {};
  std::memcpy(&bytes, table.data(), sizeof bytes);
  const auto used = table.first(sizeof bytes + std::min<std::uint64_t>(bytes, table.size() - sizeof bytes));
  std::vector<std::byte> copy(used.begin(), used.end());
  std::memcpy(copy.data(), &bytes, sizeof bytes);  // as it was before the entries were copied
  return copy;
}

void MemoryReads::ask(matcher::MatcherPlace owner, ReadMemory request, MemoryReceiver receiver) {
  if (is_over_) return receiver(failure(NC_EIO, "the run was ended"));
  request.ticket = next_ticket_++;
  waiting_.emplace(request.ticket, std::move(receiver));
  send_message(host_, host_.rank_of(owner), ExchangePacket::read_memory, request);
}

void MemoryReads::take(std::uint32_t from, ExchangePacket kind, std::span<const std::byte> fields) {
  if (kind == ExchangePacket::read_memory) return answer(from, decode<ReadMemory>(fields));
  auto read = decode<MemoryRead>(fields);
  const auto waiting = waiting_.extract(read.ticket);
  if (waiting.empty()) throw Error(NC_EIO, "another matcher answers what nobody has asked");
  if (waiting.mapped()) waiting.mapped()(std::move(read));
}

void MemoryReads::answer(std::uint32_t to, const ReadMemory& request) {
  if (request.file) {
    return files_.read(*request.file, [this, to, ticket = request.ticket](MemoryRead read) {
      read.ticket = ticket;
      send_message(host_, to, ExchangePacket::memory_read, read);
    });
  }
  std::vector<matcher::SegmentId> segments;
  for (const MemoryRange& range : request.ranges) segments.push_back(range.segment);
  const auto trouble = std::make_shared<Outcome>();  // shared by the uses of the parts
  const auto use = [this, to, request, trouble](std::span<const matcher::SegmentId> part, bool is_last) {
    MemoryRead answer;
    try {
      for (const matcher::SegmentId segment : part) (void)memory_.contents(segment);
      if (is_last && !trouble->is_failure()) answer = read(request);
    } catch (const Error& error) {
      *trouble = {error.status(), error.what()};
    }
    if (!is_last) return;
    if (trouble->is_failure()) answer = failure(trouble->status, trouble->text);
    answer.ticket = request.ticket;
    send_message(host_, to, ExchangePacket::memory_read, answer);
  };
  host_.open(std::move(segments), use);
}

MemoryRead MemoryReads::read(const ReadMemory& request) {
  MemoryRead read;
  const std::uint64_t before = storage::cuts();
  for (const MemoryRange& range : request.ranges) append(memory_.contents(range.segment), range, read.bytes);
  for (const matcher::SegmentId table : request.tables)
    read.tables.push_back(used_part(memory_.contents(table)));
  storage::expect_no_cut(before);
  return read;
}

void MemoryReads::forget_all() {
  is_over_ = true;
  for (auto& [ticket, receiver] : waiting_) {
    if (receiver) std::exchange(receiver, {})(failure(NC_EIO, "the run was ended"));
  }
}

}  // namespace sluice::runtime
