#include "event_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::coordinator {
namespace {

std::string time_stamp() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  constexpr long milliseconds = 1'000'000;
  const std::string fraction = std::to_string(1000 + now.tv_nsec / milliseconds);
  return std::string(text, length) + '.' + fraction.substr(1) + 'Z';
}

}  // namespace

EventLog::EventLog(std::filesystem::path path, std::uint64_t most_bytes)
    : path_(std::move(path)), most_bytes_(most_bytes) {
  open();
  if (!file_) throw IoError(NC_EACCESS, errno, path_.string(), "create the event log");
}

void EventLog::open() {
  file_ = runtime::FileDescriptor(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat facts {};
  size_bytes_ = file_ && ::fstat(file_.number(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

void EventLog::begin_anew() {
  std::error_code error;
  std::filesystem::rename(path_, path_.string() + ".1", error);
  if (!error) open();
  if (!file_ && failure_.empty()) failure_ = std::strerror(errno);
}

void EventLog::add(std::string_view source, std::string_view text) {
  std::string line = time_stamp();
  line.append(" ").append(source).append(" ");
  for (const char c : text) line += c == '\n' ? ' ' : c;
  line += '\n';
  if (size_bytes_ > 0 && size_bytes_ + line.size() > most_bytes_) begin_anew();
  size_bytes_ += line.size();
  std::string_view rest = line;
  while (!rest.empty()) {  // after a partial write, the next write reports the reason
    const ssize_t written = ::write(file_.number(), rest.data(), rest.size());
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (!rest.empty() && failure_.empty()) failure_ = std::strerror(errno);
}

}  // namespace sluice::coordinator
