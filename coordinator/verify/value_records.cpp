#include "value_records.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "whole_number.hpp"

namespace sluice::coordinator {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

std::string relative_path(std::string_view path, const std::filesystem::path& tree) {
  const std::string prefix = tree.string() + '/';
  return std::string(path.starts_with(prefix) ? path.substr(prefix.size()) : path);
}

/// Calls `take` with the cells of each line.
template <class Take>
void for_each_line(const std::filesystem::path& file, const Take& take) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) take(split(line, '\t'));
}

void read_rank(const std::filesystem::path& file, AccessSite site, const std::filesystem::path& tree,
               RunRecords& records) {
  constexpr std::size_t fields = 7;
  for_each_line(file, [&](const std::vector<std::string_view>& parts) {
    if (parts.size() != fields) return;
    const auto elements = whole_number<std::int64_t>(parts[3]);
    const auto status = whole_number<std::int64_t>(parts[4]);
    if (!elements || !status) return;
    site.path = relative_path(parts[1], tree);
    const bool is_get = parts[0] == "get";
    if (!is_get) records.writers[site.path] = site.component;
    records.accesses[site].push_back({is_get, std::string(parts[2]), *elements, static_cast<int>(*status),
                                      std::string(parts[5]), std::string(parts[6])});
  });
}

/// What all processes of a component have opened by the C library.
void read_files(const std::filesystem::path& file, const std::string& component,
                const std::filesystem::path& tree, RunRecords& records) {
  constexpr std::size_t fields = 4;
  for_each_line(file, [&](const std::vector<std::string_view>& parts) {
    if (parts.size() < 2) return;
    const std::string path = relative_path(parts[1], tree);
    if (parts[0] == "write") records.writers[path] = component;
    if (parts[0] != "read" || parts.size() != fields) return;
    records.reads[{component, path}].insert(std::string(parts[2]) + ' ' + std::string(parts[3]));
  });
}

std::vector<std::int64_t> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  if (text.empty()) return numbers;
  for (const std::string_view part : split(text, ','))
    numbers.push_back(whole_number<std::int64_t>(part).value_or(-1));
  return numbers;
}

bool covers(std::string_view slab, const std::vector<std::int64_t>& index) {
  const auto parts = split(slab, ':');
  if (parts.size() < 2) return false;
  const auto start = numbers_of(parts[0]);
  const auto count = numbers_of(parts[1]);
  const auto stride =
      parts.size() > 2 ? numbers_of(parts[2]) : std::vector<std::int64_t>(start.size(), std::int64_t{1});
  if (start.size() != index.size() || count.size() != index.size() || stride.size() != index.size())
    return false;
  for (std::size_t d = 0; d < index.size(); ++d) {
    const std::int64_t distance = index[d] - start[d];
    if (distance < 0 || stride[d] < 1 || distance % stride[d] != 0 || distance / stride[d] >= count[d])
      return false;
  }
  return true;
}

bool covers(const RecordedAccess& access, const std::vector<std::int64_t>& index) {
  const std::string_view slabs = std::string_view(access.slabs).substr(0, access.slabs.find('+'));
  return std::ranges::any_of(split(slabs, ';'), [&](std::string_view slab) { return covers(slab, index); });
}

/// The first index of the access.
std::vector<std::int64_t> first_index(const RecordedAccess& access) {
  return numbers_of(std::string_view(access.slabs).substr(0, access.slabs.find(':')));
}

std::string describe(const AccessSite& site, std::size_t number) {
  return "rank " + std::to_string(site.rank) + " of " + site.component + ", get " + std::to_string(number) +
         " of " + site.path;
}

std::string difference_between(const AccessSite& site, std::size_t i, const RecordedAccess& first,
                               const RecordedAccess& second, const RunRecords& writers) {
  std::string text = describe(site, i + 1) + ": variable " + first.variable + ", " + first.slabs;
  if (first.variable != second.variable || first.slabs != second.slabs || first.elements != second.elements)
    return text + "; the second run reads variable " + second.variable + ", " + second.slabs;
  if (first.status != second.status)
    return text + ": status " + std::to_string(first.status) + " and " + std::to_string(second.status);
  text += ": other values";
  const std::string writer = writer_of(writers, site.path, second.variable, first_index(second));
  return writer.empty() ? text : text + "; the first of them was written by " + writer;
}

using Gets = std::map<AccessSite, std::vector<RecordedAccess>>;

Gets gets_of(const RunRecords& records) {
  Gets gets;
  for (const auto& [site, accesses] : records.accesses)
    for (const RecordedAccess& access : accesses)
      if (access.is_get) gets[site].push_back(access);
  return gets;
}

template <class Map>
typename Map::mapped_type at(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type() : found->second;
}

void compare_site(const AccessSite& site, const std::vector<RecordedAccess>& first,
                  const std::vector<RecordedAccess>& second, const RunRecords& second_run,
                  ReadComparison& comparison) {
  const std::size_t common = std::min(first.size(), second.size());
  bool is_told = false;
  for (std::size_t i = 0; i < common; ++i) {
    if (first[i] == second[i]) {
      ++comparison.equal;
      continue;
    }
    ++comparison.different;
    if (!is_told)
      comparison.differences.push_back(difference_between(site, i, first[i], second[i], second_run));
    is_told = true;
  }
  if (first.size() == second.size()) return;
  comparison.different += std::max(first.size(), second.size()) - common;
  if (!is_told)
    comparison.differences.push_back("rank " + std::to_string(site.rank) + " of " + site.component + ", " +
                                     site.path + ": " + std::to_string(first.size()) + " and " +
                                     std::to_string(second.size()) + " gets");
}

void compare_images(const FileSite& site, const std::set<std::string>& first,
                    const std::set<std::string>& second, ReadComparison& comparison) {
  std::vector<std::string> other;
  std::ranges::set_symmetric_difference(first, second, std::back_inserter(other));
  comparison.equal += (first.size() + second.size() - other.size()) / 2;
  if (other.empty()) return;
  ++comparison.different;
  std::string text = site.component + ", read by the C library: " + site.path;
  if (first.empty() || second.empty()) {
    text += std::string(": only in the run through ") + (first.empty() ? "memory" : "files");
  } else {
    const auto bytes_of = [](const std::string& image) { return image.substr(0, image.find(' ')); };
    text += ": other contents, " + bytes_of(*first.begin()) + " and " + bytes_of(*second.begin()) + " bytes";
  }
  comparison.differences.push_back(text);
}

/// Calls `compare` for each site of two maps, with where to note the result, unless time decides that.
template <class Map, class Compare>
void compare_sites(const Map& first, const Map& second, const Excuses& excuses, ReadComparison& comparison,
                   const Compare& compare) {
  std::set<typename Map::key_type> sites;
  for (const auto& [site, values] : first) sites.insert(site);
  for (const auto& [site, values] : second) sites.insert(site);
  for (const auto& site : sites) {
    const bool is_in_both = first.contains(site) && second.contains(site);
    if (excuses.depends(site.path) || (!is_in_both && excuses.chooses(site.component))) {
      ++comparison.excused;
    } else if (excuses.sees_part(site.component, site.path)) {
      ReadComparison part;
      compare(site, part);
      comparison.equal += part.equal;
      comparison.excused += part.different;
    } else {
      compare(site, comparison);
    }
  }
}

template <class Map>
auto files_of(const Map& sites, const std::string& component) {
  std::set<std::string> files;
  for (const auto& [site, values] : sites)
    if (site.component == component) files.insert(site.path);
  return files;
}

}  // namespace

RunRecords read_records(const std::filesystem::path& directory, const std::filesystem::path& tree) {
  RunRecords records;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    const std::string component = entry.path().parent_path().filename().string();
    const std::string name = entry.path().filename().string();
    if (name == "files") {
      read_files(entry.path(), component, tree, records);
    } else if (const auto rank = whole_number<std::int64_t>(name)) {
      read_rank(entry.path(), {component, static_cast<int>(*rank), {}}, tree, records);
    }
  }
  return records;
}

void leave_out_unlike_reads(RunRecords& files, RunRecords& memory,
                            const std::function<bool(const std::string& path)>& may_be_unlike) {
  const Gets gets = gets_of(files);
  for (auto& [site, accesses] : memory.accesses)
    if (may_be_unlike(site.path) && !gets.contains(site))
      std::erase_if(accesses, [](const RecordedAccess& access) { return access.is_get; });
  std::erase_if(files.reads, [&](const auto& entry) {
    return may_be_unlike(entry.first.path) && !memory.reads.contains(entry.first);
  });
}

ReadComparison compare_gets(const RunRecords& first, const RunRecords& second, const Excuses& excuses) {
  ReadComparison comparison;
  const Gets first_gets = gets_of(first);
  const Gets second_gets = gets_of(second);
  compare_sites(first_gets, second_gets, excuses, comparison,
                [&](const AccessSite& site, ReadComparison& found) {
                  compare_site(site, at(first_gets, site), at(second_gets, site), second, found);
                });
  return comparison;
}

ReadComparison compare_reads(const RunRecords& first, const RunRecords& second, const Excuses& excuses) {
  ReadComparison comparison;
  compare_sites(first.reads, second.reads, excuses, comparison,
                [&](const FileSite& site, ReadComparison& found) {
                  compare_images(site, at(first.reads, site), at(second.reads, site), found);
                });
  return comparison;
}

bool has_other_choice(const RunRecords& first, const RunRecords& second, const std::string& component) {
  return files_of(gets_of(first), component) != files_of(gets_of(second), component) ||
         files_of(first.reads, component) != files_of(second.reads, component);
}

bool has_read_otherwise(const RunRecords& first, const RunRecords& second, const std::string& component,
                        const std::function<bool(const std::string& path)>& is_meant) {
  const auto meant = [&](const RunRecords& records) {
    Gets gets = gets_of(records);
    std::erase_if(gets, [&](const auto& entry) {
      return entry.first.component != component || !is_meant(entry.first.path);
    });
    return gets;
  };
  return meant(first) != meant(second);
}

std::string without_step(const std::string& path) {
  static constexpr std::string_view mark = ".step-";
  const std::size_t at = path.rfind(mark);
  if (at == std::string::npos || !whole_number<std::int64_t>(std::string_view(path).substr(at + mark.size())))
    return path;
  return path.substr(0, at);
}

std::string writer_of(const RunRecords& records, const std::string& path, const std::string& variable,
                      const std::vector<std::int64_t>& index) {
  std::string writer;
  const std::string whole = without_step(path);
  for (const auto& [site, accesses] : records.accesses) {
    if (site.path != path && site.path != whole) continue;
    const bool has_put = std::ranges::any_of(accesses, [&](const RecordedAccess& access) {
      return !access.is_get && access.variable == variable && covers(access, index);
    });
    if (has_put) writer = "rank " + std::to_string(site.rank) + " of " + site.component;
  }
  return writer;
}

}  // namespace sluice::coordinator
