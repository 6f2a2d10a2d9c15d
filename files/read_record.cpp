#include "read_record.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client_library.hpp"
#include "open_record.hpp"
#include "sluice/matcher/fingerprint.hpp"
#include "sluice/runtime/rules.hpp"
#include "wrapped_call.hpp"

namespace sluice::files {

namespace {

const char* record_directory() noexcept {
  static const char* const directory = std::getenv("SLUICE_RECORD_VALUES");
  return directory;
}

/// The writer of the first rule that covers the path; nothing where no rule does.
std::optional<std::string_view> writer_of(const std::string& path) {
  const char* const rules = std::getenv("SLUICE_RECORD_READS");
  if (rules == nullptr) return std::nullopt;
  for (std::string_view rest(rules); !rest.empty();) {
    const std::string_view rule = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rule.size() + 1, rest.size()));
    const std::size_t tabulator = rule.find('\t');
    if (tabulator != std::string_view::npos && runtime::match_tail(rule.substr(tabulator + 1), path))
      return rule.substr(0, tabulator);
  }
  return std::nullopt;
}

/// Whether a rule covers the path for this component, and another one writes it.
bool is_only_read(const std::string& path) {
  const auto writer = writer_of(path);
  const char* const component = std::getenv("SLUICE_COMPONENT");
  return writer && component != nullptr && *writer != component;
}

struct Contents {
  std::uint64_t bytes = 0;
  matcher::Fingerprint fingerprint;
};

/// Of a regular file; nothing where it cannot be read.
std::optional<Contents> contents_of(int file) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  constexpr std::size_t block_bytes = std::size_t{1} << 20;
  std::vector<std::byte> block(block_bytes);
  matcher::FingerprintBuilder builder;
  Contents contents;
  for (;;) {
    const ssize_t got = ::pread(file, block.data(), block.size(), static_cast<off_t>(contents.bytes));
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    builder.add_bytes(std::span(block).first(static_cast<std::size_t>(got)));
    contents.bytes += static_cast<std::uint64_t>(got);
  }
  contents.fingerprint = builder.value();
  return contents;
}

/// Opened each time, because a program may close descriptors that it does not know. One write is one line,
/// whoever else appends.
void append(const std::string& line) {
  const std::string path = std::string(record_directory()) + "/files";
  const runtime::FileDescriptor record(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (record) (void)!::write(record.number(), line.data(), line.size());
}

/// Empty: it is not for the record.
std::string normal_path(int directory, const char* path) {
  const std::string whole = absolute_path(directory, path);
  if (whole.empty() || whole.find_first_of("\t\n") != std::string::npos) return {};
  return std::filesystem::path(whole).lexically_normal().string();
}

/// Calls `record` with the path, outside of the program's sight.
template <class Record>
void record_path(int directory, const char* path, const Record& record) noexcept {
  const int before = errno;
  const Inside inside;
  try {
    const std::string whole = normal_path(directory, path);
    if (!whole.empty() && !is_in_pnetcdf()) record(whole);
  } catch (const std::exception&) {
    // No memory.
  }
  errno = before;
}

}  // namespace

bool records_files() noexcept {
  return !is_own_call() && record_directory() != nullptr;
}

void record_read(int directory, const char* path, int file, bool may_write) noexcept {
  record_path(directory, path, [&](const std::string& whole) {
    if (may_write ? !is_only_read(whole) : !writer_of(whole)) return;
    if (const auto contents = contents_of(file)) {
      append("read\t" + whole + '\t' + std::to_string(contents->bytes) + '\t' +
             std::to_string(contents->fingerprint.high) + '.' + std::to_string(contents->fingerprint.low) +
             '\n');
    }
  });
}

void record_written(int directory, const char* path, bool may_only_read) noexcept {
  record_path(directory, path, [&](const std::string& whole) {
    if (may_only_read && is_only_read(whole)) return;
    const bool is_of_system = whole.starts_with("/dev/") || whole.starts_with("/proc/");
    if (!is_of_system) append("write\t" + whole + '\n');
  });
}

}  // namespace sluice::files
