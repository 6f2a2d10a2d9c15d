#include "published_files.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

void PublishedFiles::read(const FileRange& range, MemoryReceiver receiver) {
  const auto read = std::make_shared<MemoryRead>();  // shared by the two functions
  SharedFile file;
  try {
    file = files_.open(range.step);
    if (file == nullptr) throw Error(NC_EIO, "the step has ended, or was not written as a file here");
  } catch (const Error& error) {
    read->outcome = {error.status(), error.what()};
    return receiver(std::move(*read));
  }
  const auto work = [read, range, file] {
    read->bytes.resize(range.bytes);
    const int trouble = read_range(*file, range.offset, read->bytes);
    if (trouble != 0)
      read->outcome = {NC_EIO, std::string("the file cannot be read: ") + std::strerror(trouble)};
  };
  const auto then = [read, receiver = std::move(receiver)] { receiver(std::move(*read)); };
  if (files_.is_on_disk(range.step)) return worker_.submit(work, then);
  work();
  then();
}

bool PublishedFiles::give_image(Client& client, std::uint32_t tag, const ImageRequest& request) {
  if (!client.process->has_open(request.step) || !files_.contains(request.step)) return false;
  try {
    const SharedFile file = contents(request.step);
    clients_.send_image(client, tag, {file_size(*file)}, file);
  } catch (const Error& error) {
    clients_.send_error(client, tag, error.status(), error.what());
  }
  return true;
}

/// The disk may take its time to give back the space.
void PublishedFiles::erase(matcher::StepId step) {
  if (!files_.contains(step)) return;
  const bool is_on_disk = files_.is_on_disk(step);
  SharedFile ended = files_.erase(step);
  if (is_on_disk) worker_.submit([file = std::move(ended)] {});
}

}  // namespace sluice::runtime
