#include "awaited_reads.hpp"

#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// One request to each matcher: segments of one have ids side by side.
std::vector<ReadMemory> requests_for(const std::vector<MemoryRange>& ranges) {
  std::vector<ReadMemory> requests;
  for (const MemoryRange& range : ranges) {
    const auto owner = matcher::owner_of(range.segment);
    if (requests.empty() || matcher::owner_of(requests.back().ranges.back().segment) != owner)
      requests.emplace_back();
    requests.back().ranges.push_back(range);
  }
  return requests;
}

}  // namespace

std::vector<std::byte> AwaitedReads::read(const std::vector<MemoryRange>& ranges) {
  std::vector<ReadMemory> requests = requests_for(ranges);
  const auto answers = std::make_shared<Answers>();  // shared with the loop
  answers->parts.resize(requests.size());
  answers->missing = requests.size();
  boost::asio::post(loop_, [this, answers, requests = std::move(requests)] {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      reads_.ask(matcher::owner_of(requests[i].ranges.front().segment), requests[i],
                 [this, answers, i](MemoryRead read) {
                   const std::lock_guard lock(mutex_);
                   answers->parts[i] = std::move(read);
                   --answers->missing;
                   has_news_.notify_all();
                 });
    }
  });
  std::unique_lock lock(mutex_);
  has_news_.wait(lock, [&] { return is_over_ || answers->missing == 0; });
  if (is_over_) throw Error(NC_EIO, "the run was ended");
  std::uint64_t expected = 0;
  for (const MemoryRange& range : ranges) expected += range.bytes;
  std::vector<std::byte> bytes;
  bytes.reserve(expected);
  for (const MemoryRead& part : answers->parts) {
    if (part.outcome.is_failure()) throw Error(static_cast<Status>(part.outcome.status), part.outcome.text);
    bytes.insert(bytes.end(), part.bytes.begin(), part.bytes.end());
  }
  if (bytes.size() != expected) throw Error(NC_EIO, "another matcher sent less data than was asked for");
  return bytes;
}

void AwaitedReads::end() {
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  has_news_.notify_all();
}

}  // namespace sluice::runtime
