#include "kept_variables.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>
#include <vector>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/near_match.hpp"
#include "sluice/formats/netcdf4.hpp"

namespace sluice::matcher {
namespace {

using formats::Header;

constexpr std::size_t most_named = 10;

std::vector<std::string> variables_of(const Header& header) {
  std::vector<std::string> names;
  for (int id = 0; id < header.variable_count(); ++id) names.push_back(header.variable(id).name);
  return names;
}

bool matches_any(const std::string& glob, std::span<const std::string> names) {
  return std::ranges::any_of(
      names, [&](const std::string& name) { return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0; });
}

/// Letters and digits in lower case: "air_temperature" has "temperature" and "Air temperature".
std::string plain(std::string_view text) {
  std::string letters;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

/// The variable that says by an attribute that it is what the word says; empty: none does.
std::string described_as(const std::string& word, const Header& header) {
  constexpr std::size_t shortest_word = 3;
  const std::string wanted = plain(word);
  if (wanted.size() < shortest_word) return {};
  for (int id = 0; id < header.variable_count(); ++id) {
    for (const formats::Attribute& attribute : header.variable(id).attributes) {
      const bool describes = attribute.name == "standard_name" || attribute.name == "long_name";
      if (!describes || attribute.type != formats::Type::text) continue;
      const std::string_view text(reinterpret_cast<const char*>(attribute.values.data()),
                                  attribute.values.size());
      if (plain(text).find(wanted) != std::string::npos) return header.variable(id).name;
    }
  }
  return {};
}

/// " (did you mean 'T'?)", or empty.
std::string guess(const std::string& word, const Header& header, std::span<const std::string> names) {
  std::string meant = described_as(word, header);
  if (meant.empty()) meant = formats::near_match(word, names);
  return meant.empty() ? meant : " (did you mean '" + meant + "'?)";
}

/// "It has the variables T, U and 7 more"
std::string listed(std::span<const std::string> names) {
  if (names.empty()) return "It has no variables";
  return "It has " + std::string(names.size() == 1 ? "the variable " : "the variables ") +
         formats::join(names, most_named);
}

}  // namespace

void KeptVariables::note_published(const Step& step) {
  const FileRule& rule = rules_.of(step.key);
  if (rule.keep.variables.empty()) return;
  const auto [known, is_first] = looked_.try_emplace(step.key.rule);
  Looked& looked = known->second;
  if (!is_first && looked.header == step.header) return;
  looked.header = step.header;
  if (step.version == 0 || step.is_in_files || formats::is_netcdf4(step.header)) {
    if (is_first)
      answers_.event(
          "all of " + names_.quoted(step.key) + " is kept, although 'keep' of the rule '" + rule.pattern +
          "' lists variables: a list has an effect on CDF files alone. Write 'keep: true', or let " +
          rule.writer + " write a CDF file");
    return;
  }
  try {
    compare(step, step.header.empty() ? Header() : formats::decode_metadata(step.header, step.name), looked,
            is_first);
  } catch (const Error&) {
    // Who writes the file tells of a damaged header.
  }
}

void KeptVariables::compare(const Step& step, const Header& header, Looked& looked, bool is_first) {
  const FileRule& rule = rules_.of(step.key);
  const std::vector<std::string> names = variables_of(header);
  std::vector<std::string> missing;
  for (const std::string& glob : rule.keep.variables)
    if (!matches_any(glob, names)) missing.push_back(glob);
  const bool has_none = missing.size() == rule.keep.variables.size();
  if (missing.empty() || (!is_first && (!has_none || looked.has_told_of_none))) return;
  looked.has_told_of_none = looked.has_told_of_none || has_none;
  std::string text = names_.quoted(step.key) + " has no variable ";
  for (std::size_t i = 0; i < std::min(missing.size(), most_named); ++i)
    text += (i == 0 ? "'" : ", '") + missing[i] + "'" + guess(missing[i], header, names);
  text += ". " + listed(names) + ". 'keep' of the rule '" + rule.pattern + "' names what stays on disk";
  if (has_none) text += ": the file that is kept has no data";
  answers_.event(text + ". Correct 'keep'");
}

}  // namespace sluice::matcher
