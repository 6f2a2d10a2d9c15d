#include "event_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

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

EventLog::EventLog(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600)) {
  if (!file_) throw IoError(NC_EACCESS, errno, path.string(), "cannot create the event log");
}

void EventLog::add(std::string_view source, std::string_view text) {
  std::string line = time_stamp();
  line.append(" ").append(source).append(" ");
  for (const char c : text) line += c == '\n' ? ' ' : c;
  line += '\n';
  const ssize_t written = ::write(file_.number(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size()) || !failure_.empty()) return;
  failure_ = written < 0 ? std::strerror(errno) : std::strerror(ENOSPC);
}

}  // namespace sluice::coordinator
