#include "value_records.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

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

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string relative_path(std::string_view path, const std::filesystem::path& tree) {
  const std::string prefix = tree.string() + '/';
  return std::string(path.starts_with(prefix) ? path.substr(prefix.size()) : path);
}

void read_rank(const std::filesystem::path& file, AccessSite site, const std::filesystem::path& tree,
               ValueRecords& records) {
  constexpr std::size_t fields = 7;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const auto parts = split(line, '\t');
    if (parts.size() != fields) continue;
    const auto elements = number_of(parts[3]);
    const auto status = number_of(parts[4]);
    if (!elements || !status) continue;
    site.path = relative_path(parts[1], tree);
    records[site].push_back({parts[0] == "get", std::string(parts[2]), *elements, static_cast<int>(*status),
                             std::string(parts[5]), std::string(parts[6])});
  }
}

std::vector<std::int64_t> numbers_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  if (text.empty()) return numbers;
  for (const std::string_view part : split(text, ',')) numbers.push_back(number_of(part).value_or(-1));
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
                               const RecordedAccess& second, const ValueRecords& writers) {
  std::string text = describe(site, i + 1) + ": variable " + first.variable + ", " + first.slabs;
  if (first.variable != second.variable || first.slabs != second.slabs || first.elements != second.elements)
    return text + "; the second run reads variable " + second.variable + ", " + second.slabs;
  if (first.status != second.status)
    return text + ": status " + std::to_string(first.status) + " and " + std::to_string(second.status);
  text += ": other values";
  const std::string writer = writer_of(writers, site.path, second.variable, first_index(second));
  return writer.empty() ? text : text + "; the first of them was written by " + writer;
}

std::vector<RecordedAccess> gets_of(const ValueRecords& records, const AccessSite& site) {
  std::vector<RecordedAccess> gets;
  const auto found = records.find(site);
  if (found == records.end()) return gets;
  std::ranges::copy_if(found->second, std::back_inserter(gets), &RecordedAccess::is_get);
  return gets;
}

void compare_site(const AccessSite& site, const ValueRecords& first_run, const ValueRecords& second_run,
                  GetComparison& comparison) {
  const auto first = gets_of(first_run, site);
  const auto second = gets_of(second_run, site);
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

}  // namespace

ValueRecords read_value_records(const std::filesystem::path& directory, const std::filesystem::path& tree) {
  ValueRecords records;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    const auto rank = number_of(entry.path().filename().string());
    if (!rank) continue;
    read_rank(entry.path(), {entry.path().parent_path().filename().string(), static_cast<int>(*rank), {}},
              tree, records);
  }
  return records;
}

GetComparison compare_gets(const ValueRecords& first, const ValueRecords& second) {
  GetComparison comparison;
  for (const auto& [site, accesses] : first) compare_site(site, first, second, comparison);
  for (const auto& [site, accesses] : second)
    if (!first.contains(site)) compare_site(site, first, second, comparison);
  return comparison;
}

std::string writer_of(const ValueRecords& records, const std::string& path, const std::string& variable,
                      const std::vector<std::int64_t>& index) {
  std::string writer;
  for (const auto& [site, accesses] : records) {
    if (site.path != path) continue;
    const bool has_put = std::ranges::any_of(accesses, [&](const RecordedAccess& access) {
      return !access.is_get && access.variable == variable && covers(access, index);
    });
    if (has_put) writer = "rank " + std::to_string(site.rank) + " of " + site.component;
  }
  return writer;
}

}  // namespace sluice::coordinator
