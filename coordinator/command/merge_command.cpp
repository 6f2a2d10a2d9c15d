#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/variables_map.hpp>
#include <chrono>
#include <iostream>
#include <optional>
#include <thread>

#include "commands.hpp"
#include "console.hpp"
#include "exit_status.hpp"
#include "format.hpp"
#include "sluice/storage/merge.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "stop_signals.hpp"

namespace sluice::coordinator {
namespace {

namespace program_options = boost::program_options;
using Clock = std::chrono::steady_clock;

struct MergeOptions {
  std::string master;
  std::string out;
  storage::MergeOptions options;
  bool is_quiet = false;
};

/// Parses "1", "2", "5". Throws the exceptions of program_options.
formats::Version version_of(const std::string& text) {
  if (text == "1") return formats::Version::cdf1;
  if (text == "2") return formats::Version::cdf2;
  if (text == "5") return formats::Version::cdf5;
  throw program_options::error("--format is 1, 2 or 5, not '" + text + "'");
}

MergeOptions understand(const program_options::variables_map& values) {
  MergeOptions line;
  if (values.count("master") == 0 || values.count("out") == 0)
    throw program_options::error("a master file and a name for the result are needed");
  line.master = values["master"].as<std::string>();
  line.out = values["out"].as<std::string>();
  line.options.replaces = values.count("force") != 0;
  line.options.ignores_logs = values.count("without-logs") != 0;
  line.is_quiet = values.count("quiet") != 0;
  if (values.count("format") != 0) line.options.version = version_of(values["format"].as<std::string>());
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  line.options.threads = values.count("threads") != 0 ? values["threads"].as<int>() : std::clamp(cores, 1, 8);
  if (line.options.threads < 1 || line.options.threads > 256)
    throw program_options::error("--threads is a number from 1 to 256");
  return line;
}

/// Returns nothing if the command has nothing more to do; then sets `status`.
std::optional<MergeOptions> read_merge_options(const Arguments& arguments, int& status) {
  program_options::options_description options("Options");
  auto add = options.add_options();
  add("force,f", "replace OUT where it exists");
  add("format", program_options::value<std::string>()->value_name("1|2|5"),
      "CDF format of OUT (default: that of MASTER)");
  add("threads,j", program_options::value<int>()->value_name("N"), "default: one for each core, at most 8");
  add("without-logs", "merge although burst-buffer logs still hold data of MASTER, which OUT then lacks");
  add("quiet,q", "print nothing but errors");
  add("help,h", "print this");
  program_options::options_description all = options;
  all.add_options()("master", program_options::value<std::string>())("out",
                                                                     program_options::value<std::string>());
  program_options::positional_options_description positions;
  positions.add("master", 1).add("out", 1);
  try {
    program_options::variables_map values;
    program_options::store(
        program_options::command_line_parser(arguments).options(all).positional(positions).run(), values);
    if (values.count("help") != 0) {
      std::cout
          << "sluice merge [options] MASTER OUT\nWrites a dataset that is in several files (subfiles, blobs) "
             "as one ordinary\nnetCDF file.\nExample: sluice merge -j 4 out.nc whole.nc\n\n"
          << options;
      status = status_ok;
      return std::nullopt;
    }
    return understand(values);
  } catch (const program_options::error& error) {
    std::cerr << "sluice merge: " << error.what() << "\nwrite sluice merge MASTER OUT\n";
    status = status_mistake;
    return std::nullopt;
  }
}

/// Shows the progress, and ends the merge when a signal requests it.
class Progress {
 public:
  explicit Progress(Console& console) : console_(console) {}

  void operator()(std::int64_t done, std::int64_t all) {
    check_stop_signals();
    const auto now = Clock::now();
    if (!console_.has_status() || now - shown_ < std::chrono::milliseconds(100)) return;
    shown_ = now;
    const auto percent =
        all == 0 ? 100 : static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(all));
    console_.status({{std::to_string(percent) + " %  " + format_bytes(static_cast<std::uint64_t>(done)) +
                      " of " + format_bytes(static_cast<std::uint64_t>(all))}});
  }

 private:
  Console& console_;
  Clock::time_point shown_{};
};

int merge(const MergeOptions& line) {
  Console console({.quiet = line.is_quiet, .verbose = false});
  Progress progress(console);
  auto options = line.options;
  // Before this point a signal ends the program at once, even while it waits.
  options.begin = catch_stop_signals;
  options.progress = [&](std::int64_t done, std::int64_t all) { progress(done, all); };
  storage::PosixFileSystem system;
  const auto begin = Clock::now();
  try {
    const auto bytes = storage::merge_files(system, line.master, line.out, options);
    const auto duration = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
    console.status({});
    console.notice("merged " + format_bytes(static_cast<std::uint64_t>(bytes)) + " into " + line.out +
                   " in " + format_duration(duration));
    return status_ok;
  } catch (const Interrupted& interrupted) {
    console.status({});
    return status_of_interruption(interrupted, "sluice merge", "nothing was left behind");
  } catch (const Error& error) {
    console.status({});
    console.error(std::string("sluice merge: ") + error.what());
    return error.status() == NC_EEXIST || error.status() == NC_EINVAL ? status_mistake
                                                                      : status_runtime_failure;
  }
}

}  // namespace

int merge_command(const Arguments& arguments) {
  int status = status_ok;
  const auto line = read_merge_options(arguments, status);
  if (!line) return status;
  return merge(*line);
}

}  // namespace sluice::coordinator
