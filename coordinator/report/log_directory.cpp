#include "log_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "sluice/formats/error.hpp"

namespace sluice::coordinator {

std::filesystem::path logs_beside(const std::filesystem::path& flow_file) {
  return std::filesystem::absolute(flow_file).parent_path() / ".sluice";
}

std::filesystem::path create_log_directory(const std::filesystem::path& wanted,
                                           const std::filesystem::path& flow_file, const std::string& name) {
  std::filesystem::path path = wanted;
  if (path.empty()) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::localtime_r(&now, &parts);
    char date[32];
    std::strftime(date, sizeof date, "%Y%m%d-%H%M%S", &parts);
    path = logs_beside(flow_file) / (name + '-' + date + '-' + std::to_string(::getpid()));
  }
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  const bool is_there = !error && (::mkdir(path.c_str(), 0700) == 0 ||
                                   (errno == EEXIST && std::filesystem::is_directory(path, error)));
  if (!is_there) {
    const std::string reason = std::strerror(error ? error.value() : errno);
    throw Error(NC_EACCESS, "create the log directory " + path.string() + ": " + reason +
                                "\nchoose another with --log-dir");
  }
  return path;
}

}  // namespace sluice::coordinator
