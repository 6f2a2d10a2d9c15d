#include "spare_files.hpp"

#include <algorithm>
#include <utility>

#include "memory_file.hpp"

namespace sluice::runtime {

namespace {

constexpr std::size_t most_files = 16;  // each takes a descriptor
/// A reader, or the registry, may have the newer one a moment longer.
constexpr int most_of_a_path = 2;

/// A reader cannot write to it by what it was given, but can by a link below /proc.
bool is_unchanged(const SpareFile& spare) {
  const timespec now = status_of(*spare.file).st_mtim;
  return now.tv_sec == spare.time.tv_sec && now.tv_nsec == spare.time.tv_nsec;
}

}  // namespace

void SpareFiles::keep(SpareFile spare, const SharedFile& former) {
  int of_path = 1;
  for (auto known = files_.rbegin(); known != files_.rend(); ++known) {
    if (known->path != spare.path) continue;
    const bool is_useful = ++of_path <= most_of_a_path && known->newest.lock() == former;
    known->newest = is_useful ? spare.newest : std::weak_ptr<const FileDescriptor>();
    if (is_useful) known->lacks = std::make_shared<const ByteRanges>(united(*known->lacks, *spare.lacks));
  }
  spare.time = status_of(*spare.file).st_mtim;
  if (!is_sealed(*spare.file)) files_.push_back(std::move(spare));
  std::erase_if(files_, [](const SpareFile& known) { return known.newest.expired(); });
  std::uint64_t bytes = 0;
  for (const SpareFile& known : files_) bytes += file_size(*known.file);
  while (bytes > most_bytes_ || files_.size() > most_files) {
    bytes -= file_size(*files_.front().file);
    files_.pop_front();
  }
}

SpareFile SpareFiles::take(const std::string& path, const SharedFile& newest) {
  const auto is_free = [&](const SpareFile& spare) {
    return spare.path == path && spare.newest.lock() == newest && spare.file.use_count() == 1 &&
           is_alone(*spare.file) && is_unchanged(spare);
  };
  const auto last = std::find_if(files_.rbegin(), files_.rend(), is_free);
  if (last == files_.rend()) return {};
  SpareFile spare = std::move(*last);
  files_.erase(std::next(last).base());
  return spare;
}

}  // namespace sluice::runtime
