#pragma once
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

#include "memory_reads.hpp"
#include "step_source.hpp"

namespace sluice::runtime {

/// Data of other nodes for a thread that waits for it, while the matcher's loop goes on.
class AwaitedReads final : public RemoteLogs {
 public:
  /// Both must outlive this object.
  AwaitedReads(boost::asio::io_context& loop, MemoryReads& reads) : loop_(loop), reads_(reads) {}

  /// Not called by the loop. Throws Error: NC_EIO when the data does not come.
  [[nodiscard]] std::vector<std::byte> read(const std::vector<MemoryRange>& ranges) override;
  /// Who waits is told that the run was ended. Called by the loop.
  void end();

 private:
  struct Answers {
    std::vector<MemoryRead> parts;
    std::size_t missing = 0;
  };
  boost::asio::io_context& loop_;
  MemoryReads& reads_;
  std::mutex mutex_;  ///< protects what follows, and all Answers
  std::condition_variable has_news_;
  bool is_over_ = false;
};

}  // namespace sluice::runtime
