#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "commands.hpp"
#include "exit_status.hpp"
#include "format.hpp"
#include "log_choice.hpp"
#include "sluice/formats/subfiles.hpp"
#include "sluice/storage/burst_log_reader.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::coordinator {
namespace {

constexpr int status_damaged = 1;  // an entry is torn or damaged; the output names it
constexpr std::int64_t most_slabs = 4;

std::string describe(std::span<const std::int64_t> numbers) {
  std::string text = "[";
  for (const auto number : numbers) text += (text.size() > 1 ? "," : "") + std::to_string(number);
  return text + "]";
}

std::string describe(const formats::BurstLogEntry& entry) {
  std::string text;
  for (std::int64_t i = 0; i < std::min(entry.slab_count(), most_slabs) && entry.dimensions > 0; ++i) {
    const auto slab = entry.slab(i);
    text += (i > 0 ? "; " : " ") + ("start " + describe(slab.start)) + " count " + describe(slab.count);
    if (!slab.stride.empty()) text += " stride " + describe(slab.stride);
  }
  if (entry.slab_count() > most_slabs && entry.dimensions > 0)
    text += "; and " + std::to_string(entry.slab_count() - most_slabs) + " more";
  return text;
}

const char* kind_name(int kind) noexcept {
  if (kind > 0) return "varn";
  constexpr std::array names{"?", "var", "var1", "vara", "vars"};
  return names[static_cast<std::size_t>(-kind)];
}

/// The names of the variables, if the netCDF file can be read.
class VariableNames {
 public:
  VariableNames(storage::FileSystem& system, const std::string& path, std::int64_t header_begin) {
    try {
      const auto file = system.open(path, storage::OpenMode::read);
      header_ = storage::read_header(*file, storage::default_header_chunk_bytes, formats::Detail::all,
                                     nullptr, header_begin)
                    .decoded.header;
      if (formats::subfile_count(*header_) > 0) header_ = formats::read_master(*header_, path).header;
    } catch (const Error&) {
      header_.reset();
    }
  }
  [[nodiscard]] std::string name(int varid) const {
    const bool is_known = header_ && varid < header_->variable_count();
    return is_known ? header_->variable(varid).name : "variable " + std::to_string(varid);
  }
  [[nodiscard]] bool are_known() const noexcept { return header_.has_value(); }

 private:
  std::optional<formats::Header> header_;
};

const char* describe_data(const formats::BurstLogHeader& header) noexcept {
  if (header.is_external) return "as in the file";
  return header.step ? "in the file's types, in the program's byte order"
                     : "as in the program, to be converted";
}

void print_header(const storage::BurstLogReader& log, bool is_file_readable, bool is_in_use) {
  const auto& header = log.header();
  std::cout << log.paths().metadata << "\n  netCDF file  " << header.path
            << (is_file_readable ? "" : "  (cannot be read)") << "\n  process      " << header.rank << " of "
            << header.process_count << ", on " << header.processor << '\n';
  if (header.step)
    std::cout << "  step         " << header.step->step << " of a workflow, which continues step "
              << (header.step->base != 0 ? header.step->base : header.step->origin) << '\n';
  if (const auto& identity = header.identity) {
    if (identity->run != 0) std::cout << "  run          " << identity->run << '\n';
    std::cout << "  group        " << identity->group << '\n';
  }
  std::cout << "  data         " << describe_data(header) << "\n  entries      " << header.entry_count
            << (is_in_use ? "  (a running program writes this log)" : "") << "\n\n";
}

void print_entry(const storage::BurstLogReader& log, const formats::BurstLogEntry& entry,
                 const VariableNames& names) {
  std::cout << "  " << log.entry_index() << "  " << kind_name(entry.api_kind) << " "
            << names.name(entry.varid) << " (" << formats::type_name(entry.type) << ")" << describe(entry)
            << "  " << format_bytes(static_cast<std::uint64_t>(entry.data_bytes)) << " at "
            << entry.data_offset << '\n';
}

int print_log(const std::string& path) {
  storage::PosixFileSystem system;
  storage::BurstLogReader log(system, path);
  while (log.next()) {  // to the newest header
  }
  // The logs replace a workflow's file; its header is beside the logs.
  const VariableNames names(system, log.header().step ? log.paths().header : log.header().path,
                            log.headers().back().header_begin);
  log.restart();
  print_header(log, names.are_known(), storage::is_in_use(system, path));
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::int64_t step = log.step();
  while (const auto entry = log.next()) {
    if (entry->step != step) std::cout << "  step " << entry->step << '\n';
    step = entry->step;
    print_entry(log, *entry, names);
    ++entries;
    bytes += static_cast<std::uint64_t>(entry->data_bytes);
  }
  std::cout << "  " << entries << (entries == 1 ? " complete put, " : " complete puts, ")
            << format_bytes(bytes);
  if (log.withdrawn_count() > 0) std::cout << "; " << log.withdrawn_count() << " withdrawn";
  std::cout << '\n';
  for (const auto& problem : log.problems()) {
    const bool is_torn = problem.kind == storage::BurstLogProblem::Kind::torn;
    std::cout << (is_torn ? "  torn: entry " : "  damaged: entry ") << problem.entry << " at byte "
              << problem.offset_bytes << ": " << problem.what << '\n';
  }
  return log.problems().empty() ? status_ok : status_damaged;
}

/// The events of a run, where a user names one in place of a burst-buffer log.
std::optional<std::filesystem::path> events_of(const std::string& named) {
  std::error_code error;
  const bool may_be_log = std::filesystem::is_regular_file(named, error) && !named.ends_with(".yaml");
  const std::filesystem::path directory = may_be_log ? std::filesystem::path() : find_log_directory(named);
  std::filesystem::path events = directory / "events.log";
  if (directory.empty() || !std::filesystem::is_regular_file(events, error)) return std::nullopt;
  return events;
}

}  // namespace

int log_command(const Arguments& arguments) {
  if (arguments.size() == 1 && (arguments.front() == "--help" || arguments.front() == "-h")) {
    std::cout
        << "sluice log FILE.meta …\nPrints burst-buffer logs; of a workflow or a log directory, the "
           "events of the\nrun. Exit status: 0 if all logs are sound; 1 if an entry is torn or damaged\n"
           "(the output names the entry).\nExample: sluice log /scratch/out.nc_7_0.meta\n";
    return status_ok;
  }
  if (arguments.empty() || arguments.front().starts_with("-")) {
    std::cerr << "sluice log: no metadata log was given\nwrite sluice log FILE.meta\n";
    return status_mistake;
  }
  int status = status_ok;
  for (const auto& path : arguments) {
    if (const auto events = events_of(path)) {
      std::cout << std::ifstream(*events).rdbuf();
      continue;
    }
    try {
      status = std::max(status, print_log(path));
    } catch (const FormatError& error) {
      std::cout.flush();
      std::cerr << "sluice log: " << error.what() << '\n';
      status = std::max(status, status_damaged);
    } catch (const Error& error) {
      std::cout.flush();
      std::cerr
          << "sluice log: " << error.what()
          << "\ngive a metadata log: a file NAME.meta in the directory of staging.spill, or of the hint "
             "nc_burst_buf_dirname\n";
      status = status_mistake;
    }
  }
  return status;
}

}  // namespace sluice::coordinator
