#include "kept_file.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "sluice/formats/cdf.hpp"

namespace sluice::runtime {
namespace {

bool is_wanted(const formats::Variable& variable, const std::vector<std::string>& globs) {
  return std::ranges::any_of(
      globs, [&](const std::string& glob) { return ::fnmatch(glob.c_str(), variable.name.c_str(), 0) == 0; });
}

KeptFile part_of(const formats::Header& whole, const std::vector<std::string>& globs) {
  KeptFile kept;
  kept.header.version = whole.version;
  kept.header.attributes = whole.attributes;
  // from numbers in the whole header to numbers in the part, in the same order
  std::map<int, int> dimensions;
  for (int id = 0; id < whole.variable_count(); ++id) {
    if (!is_wanted(whole.variable(id), globs)) continue;
    kept.sources.push_back(id);
    for (const int dimension : whole.variable(id).dimids) dimensions[dimension] = -1;
  }
  for (auto& [dimension, new_id] : dimensions) new_id = kept.header.add_dimension(whole.dimension(dimension));
  for (const int id : kept.sources) {
    formats::Variable variable = whole.variable(id);
    for (int& dimension : variable.dimids) dimension = dimensions.at(dimension);
    kept.header.add_variable(std::move(variable));
  }
  if (kept.header.record_dimension() >= 0) kept.header.record_count = whole.record_count;
  kept.layout = formats::compute_layout(kept.header, {}, nullptr);
  return kept;
}

}  // namespace

std::int64_t bytes_per_record(const formats::Header& header, int varid) {
  return header.elements_per_record(varid) *
         static_cast<std::int64_t>(formats::size_of(header.variable(varid).type));
}

std::int64_t KeptFile::size_bytes() const {
  return formats::file_bytes(header, layout);
}

KeptFile kept_file(const matcher::StepView& view, formats::Version version, std::int64_t record_count,
                   const std::vector<std::string>& variables) {
  formats::Header whole;
  if (!view.header.empty()) whole = formats::decode_metadata(view.header, view.name);
  whole.version = version;
  whole.record_count = whole.record_dimension() < 0 ? 0 : record_count;
  if (!variables.empty()) return part_of(whole, variables);
  KeptFile kept{std::move(whole), {}, {}};
  kept.layout = formats::layout_of(kept.header, formats::encoded_size(kept.header));
  kept.sources.resize(static_cast<std::size_t>(kept.header.variable_count()));
  std::iota(kept.sources.begin(), kept.sources.end(), 0);
  return kept;
}

}  // namespace sluice::runtime
