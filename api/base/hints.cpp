#include "hints.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <span>

namespace sluice::api {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// The number at the beginning of a hint's text; 0 if there is none.
std::int64_t leading_number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The part of mode and hints that is broadcast first. Each create and open waits for each broadcast, so one
/// broadcast should suffice for most texts. It is no larger: within a node, Open MPI sends up to 256 bytes,
/// header included, without a buffer of its own.
struct FirstPart {
  int mode = 0;
  int text_bytes = 0;
  int coupling_texts = 0;
  int is_safe_mode = 0;
  std::array<char, 216> text{};
};

}  // namespace

Hints parse_hints(std::string_view text) {
  Hints hints;
  while (!text.empty()) {
    const auto end = std::min(text.find(';'), text.size());
    const auto entry = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const auto key = trimmed(entry.substr(0, equals));
    const auto value = trimmed(entry.substr(equals + 1));
    if (!key.empty() && !value.empty()) hints.insert_or_assign(std::string(key), std::string(value));
  }
  return hints;
}

Hints collect_hints(MPI_Info user) {
  const char* const text = std::getenv("PNETCDF_HINTS");
  Hints hints = parse_hints(text != nullptr ? text : "");
  const bool aligns_data = hints.contains("nc_var_align_size") || hints.contains("nc_header_align_size");
  if (user == MPI_INFO_NULL) return hints;
  Hints of_user = InfoHandle::duplicate_of(user).entries();
  // Both keys mean the same alignment: the key in the environment wins over the user's key.
  if (aligns_data) of_user.erase("nc_var_align_size");
  hints.merge(of_user);
  return hints;
}

ModeAndHints mode_and_hints_of_root(const Communicator& comm, const ModeAndHints& mine) {
  if (comm.size() == 1) return mine;
  // C strings: each string ends with a zero byte.
  std::string text;
  const auto append = [&](const std::string& value) { text.append(value).append(1, '\0'); };
  if (comm.is_root()) {
    std::ranges::for_each(mine.coupling, append);
    for (const auto& [key, value] : mine.hints) append(key), append(value);
  }
  FirstPart told{mine.mode, static_cast<int>(text.size()), static_cast<int>(mine.coupling.size()),
                 mine.is_safe_mode ? 1 : 0};
  std::copy_n(text.begin(), std::min(text.size(), told.text.size()), told.text.begin());
  check_mpi(MPI_Bcast(&told, sizeof told, MPI_BYTE, 0, comm.get()), "broadcast");
  text.resize(static_cast<std::size_t>(told.text_bytes));
  std::copy_n(told.text.begin(), std::min(text.size(), told.text.size()), text.begin());
  if (text.size() > told.text.size()) {
    const auto rest = std::span(text).subspan(told.text.size());
    check_mpi(MPI_Bcast(rest.data(), static_cast<int>(rest.size()), MPI_CHAR, 0, comm.get()), "broadcast");
  }
  ModeAndHints of_root{told.mode, {}};
  of_root.is_safe_mode = told.is_safe_mode != 0;
  std::size_t at = 0;
  const auto next = [&] {
    std::string value(text.c_str() + at);
    at += value.size() + 1;
    return value;
  };
  for (int i = 0; i < told.coupling_texts; ++i) of_root.coupling.push_back(next());
  while (at < text.size()) {
    std::string key = next();
    of_root.hints.emplace(std::move(key), next());
  }
  return of_root;
}

void check_io_driver(const Hints& hints) {
  const auto driver = hints.find("nc_driver");
  if (driver == hints.end() || driver->second == "gio" || driver->second == "mpiio") return;
  throw Error(NC_EDRIVER,
              "the hint nc_driver is '" + driver->second + "': the allowed values are gio and mpiio");
}

std::int64_t byte_hint(const Hints& hints, const std::string& key) {
  const auto it = hints.find(key);
  if (it == hints.end()) return 0;
  return std::max<std::int64_t>(leading_number(it->second), 0);
}

formats::AlignmentHints alignment_hints_of(const Hints& hints) {
  formats::AlignmentHints alignments;
  alignments.data = byte_hint(hints, "nc_var_align_size");
  if (alignments.data == 0) alignments.data = byte_hint(hints, "nc_header_align_size");
  alignments.record = byte_hint(hints, "nc_record_align_size");
  return alignments;
}

std::string in_place_swap_of(const Hints& hints) {
  const auto hint = hints.find("nc_in_place_swap");
  if (hint == hints.end()) return "auto";
  const std::string value = in_lower_case(hint->second);
  return value == "enable" || value == "disable" ? value : "auto";
}

Hints hints_in_force(const Hints& asked, const Hints& below, const formats::LayoutOptions& layout) {
  Hints all = {
      {"nc_header_read_chunk_size", "262144"}, {"nc_ibuf_size", "16777216"}, {"nc_num_subfiles", "0"}};
  for (const auto& [key, value] : below) all.insert_or_assign(key, value);
  for (const auto& [key, value] : asked) all.insert_or_assign(key, value);
  // PnetCDF shows the values in force, not the requested values.
  all.insert_or_assign("nc_in_place_swap", in_place_swap_of(asked));
  all.insert_or_assign("nc_ibuf_size", std::to_string(leading_number(all.at("nc_ibuf_size"))));
  const auto chunk = leading_number(all.at("nc_header_read_chunk_size"));
  all.insert_or_assign("nc_header_read_chunk_size", std::to_string(std::max<std::int64_t>(chunk, 0)));
  if (const auto subfiles = below.find("nc_num_subfiles"); subfiles != below.end()) {
    all.insert_or_assign("nc_num_subfiles", subfiles->second);
    all.insert_or_assign("pnetcdf_subfiling", "enable");
  } else {
    all.insert_or_assign("nc_num_subfiles", "0");
    const auto wanted = asked.find("pnetcdf_subfiling");
    const bool is_enabled = wanted != asked.end() && in_lower_case(wanted->second) == "enable";
    all.insert_or_assign("pnetcdf_subfiling", is_enabled ? "enable" : "disable");
  }
  // The hints of burst buffering also show the values in force.
  if (asked.count("nc_burst_buf") != 0) {
    all.insert_or_assign("nc_burst_buf", "disable");
    for (const auto& [key, value] : below)
      if (key.starts_with("nc_burst_buf")) all.insert_or_assign(key, value);
  }
  all.insert_or_assign("nc_var_align_size", std::to_string(layout.data_align_bytes));
  all.insert_or_assign("nc_record_align_size", std::to_string(layout.record_align_bytes));
  return all;
}

}  // namespace sluice::api
