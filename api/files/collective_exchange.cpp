#include "collective_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace sluice::api {
namespace {

constexpr int elements_tag = 1;  // ranges and elements of a put
constexpr int question_tag = 2;  // ranges of a get
constexpr int answer_tag = 3;    // elements of a get

/// The union of ascending extents, as ranges that lie one after the other in a dense buffer.
class DenseRanges {
 public:
  /// The position of the extent's first byte in the buffer.
  std::int64_t place(const Extent& extent) noexcept {
    if (count_ == 0 || extent.offset_bytes > range_.end) {
      position_ += range_.size();
      range_ = {extent.offset_bytes, extent.end()};
      ++count_;
    } else {
      range_.end = std::max(range_.end, extent.end());
    }
    return position_ + (extent.offset_bytes - range_.begin);
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// The latest range; it can still grow.
  [[nodiscard]] const FileRange& range() const noexcept { return range_; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(position_ + range_.size());
  }

 private:
  FileRange range_;
  std::int64_t position_ = 0;
  std::size_t count_ = 0;
};

/// The layout of a message: a count, that many ranges, and for a put the elements.
class MessageView {
 public:
  explicit MessageView(std::byte* bytes) noexcept : bytes_(bytes) {}

  [[nodiscard]] static std::size_t size(std::size_t ranges) noexcept {
    return sizeof(std::int64_t) + ranges * sizeof(FileRange);
  }
  void set_count(std::size_t ranges) noexcept {
    const auto count = static_cast<std::int64_t>(ranges);
    std::memcpy(bytes_, &count, sizeof count);
  }
  [[nodiscard]] std::size_t count() const noexcept {
    std::int64_t count = 0;
    std::memcpy(&count, bytes_, sizeof count);
    return static_cast<std::size_t>(count);
  }
  void set_range(std::size_t i, const FileRange& range) noexcept {
    std::memcpy(bytes_ + size(i), &range, sizeof range);
  }
  [[nodiscard]] FileRange range(std::size_t i) const noexcept {
    FileRange range;
    std::memcpy(&range, bytes_ + size(i), sizeof range);
    return range;
  }
  [[nodiscard]] std::byte* elements() const noexcept { return bytes_ + size(count()); }

 private:
  std::byte* bytes_;
};

/// memcpy, with a fast path for a single element.
void copy_bytes(std::byte* to, const std::byte* from, std::int64_t n) noexcept {
  if (n == 4) {
    std::memcpy(to, from, 4);
  } else if (n == 8) {
    std::memcpy(to, from, 8);
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(n));
  }
}

DenseRanges measure(const FileRequest& request, const FileRange& window) {
  DenseRanges ranges;
  for_each_clipped(request.extents_in(window), window, [&](const Extent& extent) { ranges.place(extent); });
  return ranges;
}

void add_own(const FileRequest& request, const FileRange& window, Coverage& coverage) {
  coverage.begin_list();
  for_each_clipped(request.extents_in(window), window, [&](const Extent& extent) {
    coverage.add({extent.offset_bytes, extent.end()});
  });
}

void add_ranges(const MessageView& message, Coverage& coverage) {
  coverage.begin_list();
  for (std::size_t i = 0; i < message.count(); ++i) coverage.add(message.range(i));
}

}  // namespace

void CollectiveExchange::put(FileRequest& request, std::span<const RequestSummary> summaries,
                             bool bridges_gaps) {
  const FileDomains domains = divide(request, summaries);
  const int me = my_aggregator(domains);
  std::exception_ptr failure;
  for (std::size_t round = 0; round < domains.rounds(); ++round) {
    send_elements(request, domains, round);
    const FileRange window = me >= 0 ? domains.window(me, round) : FileRange{};
    if (!window.is_empty()) {
      collect(request, summaries, window);
      try {
        window_.write(file_, coverage_.join(), bridges_gaps ? options_.gap_bytes : 0);
      } catch (const Error&) {
        if (!failure) failure = std::current_exception();
      }
    }
    finish_sends();
  }
  if (failure) std::rethrow_exception(failure);
}

void CollectiveExchange::get(FileRequest& request, std::span<const RequestSummary> summaries) {
  const FileDomains domains = divide(request, summaries);
  const int me = my_aggregator(domains);
  std::exception_ptr failure;
  for (std::size_t round = 0; round < domains.rounds(); ++round) {
    ask_for_elements(request, domains, round);
    const FileRange window = me >= 0 ? domains.window(me, round) : FileRange{};
    if (!window.is_empty()) {
      take_questions(request, summaries, window);
      try {
        window_.read(file_, coverage_.join(), options_.gap_bytes);
      } catch (const Error&) {
        if (!failure) failure = std::current_exception();
      }
      answer(request, summaries, window);
    }
    take_answers(request, domains, round);
    finish_sends();
  }
  if (failure) std::rethrow_exception(failure);
}

FileDomains CollectiveExchange::divide(const FileRequest& request,
                                       std::span<const RequestSummary> summaries) {
  find_aggregators();
  const FileRange hull = joint_hull(summaries);
  std::int64_t total_bytes = 0;
  for (const auto& summary : summaries) total_bytes += summary.bytes;
  const int available = static_cast<int>(aggregator_ranks_.size());
  const bool is_fixed = options_.aggregators > 0 || options_.aggregators_per_node > 0;
  const int aggregators = is_fixed ? available : aggregators_for(total_bytes, available);
  if (hull.size() <= aggregators * options_.window_bytes)
    return FileDomains::even(hull, aggregators, options_);

  LoadMap loads(hull, options_.alignment_bytes);
  for (const Extent& extent : request.extents()) loads.add({extent.offset_bytes, extent.end()});
  const auto cells = loads.cells();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, cells.data(), static_cast<int>(cells.size()), MPI_INT64_T, MPI_SUM,
                          comm_.get()),
            "add up the loads of an access");
  return FileDomains::balanced(loads, aggregators, options_);
}

void CollectiveExchange::find_aggregators() {
  if (!aggregator_ranks_.empty()) return;
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm_.get(), MPI_COMM_TYPE_SHARED, comm_.rank(), MPI_INFO_NULL, &node),
            "find the processes of a node");
  int leader = comm_.rank();
  const int code = MPI_Bcast(&leader, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  check_mpi(code, "find the processes of a node");
  std::vector<int> leaders(static_cast<std::size_t>(comm_.size()));
  check_mpi(MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, comm_.get()), "list the nodes");
  aggregator_ranks_ = choose_aggregators(leaders, options_);
}

int CollectiveExchange::my_aggregator(const FileDomains& domains) const noexcept {
  for (int a = 0; a < domains.aggregators(); ++a) {
    if (rank_of(a) == comm_.rank()) return a;
  }
  return -1;
}

void CollectiveExchange::send_elements(FileRequest& request, const FileDomains& domains, std::size_t round) {
  to_aggregators_.resize(static_cast<std::size_t>(domains.aggregators()));
  for (int a = 0; a < domains.aggregators(); ++a) {
    const FileRange window = domains.window(a, round);
    if (rank_of(a) == comm_.rank() || !request.hull().meets(window)) continue;
    const DenseRanges total = measure(request, window);
    const std::size_t size = MessageView::size(total.count()) + total.bytes();
    ByteBuffer& message = to_aggregators_[static_cast<std::size_t>(a)];
    MessageView view(message.reserve(size));
    view.set_count(total.count());
    std::byte* elements = view.elements();
    DenseRanges ranges;
    for_each_clipped(request.extents_in(window), window, [&](const Extent& extent) {
      const std::int64_t position = ranges.place(extent);
      view.set_range(ranges.count() - 1, ranges.range());
      request.codec(extent).encode(extent.first_element, extent.elements, elements + position);
    });
    send(rank_of(a), elements_tag, message.data(), size);
  }
}

void CollectiveExchange::collect(FileRequest& request, std::span<const RequestSummary> summaries,
                                 const FileRange& window) {
  window_.move_to(window);
  coverage_.clear();
  from_ranks_.resize(1);
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank == comm_.rank() || !summaries[static_cast<std::size_t>(rank)].hull.meets(window)) continue;
    receive(rank, elements_tag, from_ranks_.front());
    const MessageView message(from_ranks_.front().data());
    add_ranges(message, coverage_);
    const std::byte* elements = message.elements();
    for (std::size_t i = 0; i < message.count(); ++i) {
      const FileRange range = message.range(i);
      copy_bytes(window_.at(range.begin), elements, range.size());
      elements += range.size();
    }
  }
  add_own(request, window, coverage_);
  for_each_clipped(request.extents_in(window), window, [&](const Extent& extent) {
    request.codec(extent).encode(extent.first_element, extent.elements, window_.at(extent.offset_bytes));
  });
}

void CollectiveExchange::ask_for_elements(FileRequest& request, const FileDomains& domains,
                                          std::size_t round) {
  const auto aggregators = static_cast<std::size_t>(domains.aggregators());
  to_aggregators_.resize(aggregators);
  answers_.resize(aggregators);
  for (int a = 0; a < domains.aggregators(); ++a) {
    const FileRange window = domains.window(a, round);
    if (rank_of(a) == comm_.rank() || !request.hull().meets(window)) continue;
    const DenseRanges total = measure(request, window);
    if (total.count() > 0) {
      receives_.emplace_back();
      check_mpi(MPI_Irecv(answers_[static_cast<std::size_t>(a)].reserve(total.bytes()),
                          static_cast<int>(total.bytes()), MPI_BYTE, rank_of(a), answer_tag, comm_.get(),
                          &receives_.back()),
                "receive elements");
    }
    const std::size_t size = MessageView::size(total.count());
    MessageView view(to_aggregators_[static_cast<std::size_t>(a)].reserve(size));
    view.set_count(total.count());
    DenseRanges ranges;
    for_each_clipped(request.extents_in(window), window, [&](const Extent& extent) {
      ranges.place(extent);
      view.set_range(ranges.count() - 1, ranges.range());
    });
    send(rank_of(a), question_tag, to_aggregators_[static_cast<std::size_t>(a)].data(), size);
  }
}

void CollectiveExchange::take_questions(const FileRequest& request, std::span<const RequestSummary> summaries,
                                        const FileRange& window) {
  window_.move_to(window);
  coverage_.clear();
  from_ranks_.resize(static_cast<std::size_t>(comm_.size()));
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank == comm_.rank() || !summaries[static_cast<std::size_t>(rank)].hull.meets(window)) continue;
    ByteBuffer& question = from_ranks_[static_cast<std::size_t>(rank)];
    receive(rank, question_tag, question);
    add_ranges(MessageView(question.data()), coverage_);
  }
  add_own(request, window, coverage_);
}

void CollectiveExchange::answer(FileRequest& request, std::span<const RequestSummary> summaries,
                                const FileRange& window) {
  std::size_t slot = 0;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank == comm_.rank() || !summaries[static_cast<std::size_t>(rank)].hull.meets(window)) continue;
    const MessageView question(from_ranks_[static_cast<std::size_t>(rank)].data());
    if (question.count() == 0) continue;
    std::int64_t size = 0;
    for (std::size_t i = 0; i < question.count(); ++i) size += question.range(i).size();
    AnswerSlot& answer = answer_slots_[slot++ % answer_slots_.size()];
    check_mpi(MPI_Wait(&answer.send, MPI_STATUS_IGNORE), "send elements");
    std::byte* to = answer.bytes.reserve(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < question.count(); ++i) {
      const FileRange range = question.range(i);
      copy_bytes(to, window_.at(range.begin), range.size());
      to += range.size();
    }
    check_mpi(MPI_Isend(answer.bytes.data(), static_cast<int>(size), MPI_BYTE, rank, answer_tag, comm_.get(),
                        &answer.send),
              "send elements");
  }
  for_each_clipped(request.extents_in(window), window, [&](const Extent& extent) {
    request.codec(extent).decode(extent.first_element, extent.elements, window_.at(extent.offset_bytes));
  });
}

void CollectiveExchange::take_answers(FileRequest& request, const FileDomains& domains, std::size_t round) {
  check_mpi(MPI_Waitall(static_cast<int>(receives_.size()), receives_.data(), MPI_STATUSES_IGNORE),
            "receive elements");
  receives_.clear();
  for (int a = 0; a < domains.aggregators(); ++a) {
    const FileRange window = domains.window(a, round);
    if (rank_of(a) == comm_.rank() || !request.hull().meets(window)) continue;
    const std::byte* elements = answers_[static_cast<std::size_t>(a)].data();
    DenseRanges ranges;
    for_each_clipped(request.extents_in(window), window, [&](const Extent& extent) {
      const std::int64_t position = ranges.place(extent);
      request.codec(extent).decode(extent.first_element, extent.elements, elements + position);
    });
  }
}

void CollectiveExchange::send(int rank, int tag, const std::byte* bytes, std::size_t size) {
  sends_.emplace_back();
  check_mpi(MPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, rank, tag, comm_.get(), &sends_.back()),
            "send a message");
}

void CollectiveExchange::receive(int rank, int tag, ByteBuffer& bytes) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check_mpi(MPI_Mprobe(rank, tag, comm_.get(), &message, &status), "wait for a message");
  int size = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &size), "measure a message");
  bytes.reserve(static_cast<std::size_t>(size));
  check_mpi(MPI_Mrecv(bytes.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE), "receive a message");
}

void CollectiveExchange::finish_sends() {
  check_mpi(MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE),
            "send a message");
  sends_.clear();
  for (AnswerSlot& slot : answer_slots_) check_mpi(MPI_Wait(&slot.send, MPI_STATUS_IGNORE), "send elements");
}

}  // namespace sluice::api
