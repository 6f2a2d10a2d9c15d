#include "trial_order.hpp"

#include <algorithm>

namespace sluice::coordinator {
namespace {

using Path = std::filesystem::path;
using PathSet = std::set<Path>;

bool has_child(const PathSet& files, const Path& directory) {
  const auto is_child = [&](const Path& file) { return file.parent_path() == directory; };
  return std::ranges::any_of(files, is_child);
}

/// Whether a directory, or a link, is a part of the path or its end.
bool leads_through(const Path& path, const Path& place) {
  Path begin;
  for (const Path& part : path) {
    begin /= part;
    if (part == place.filename() && name_of(begin) == place) return true;
  }
  return false;
}

/// Looks at the calls of one program for what an earlier one has made.
class OrderFinder {
 public:
  OrderFinder(const TriedProgram& first, const TriedProgram& second, const PathSet& passed, Path directory,
              std::string name)
      : first_(first),
        second_(second),
        passed_(passed),
        directory_(std::move(directory)),
        name_(std::move(name)) {}

  /// Empty: there is no such call. A change says more than a look before it.
  std::string find() {
    std::string found, change;
    for (const TrialCall& call : second_.calls) {
      std::string& known = call.is_write() ? change : found;
      if (known.empty()) known = reason_of(call);
      // Who has waited for one file of the first program finds the directories that it had made before.
      if (call.letter == 'r' && passed_.contains(call.file) && first_.written.contains(call.file))
        has_waited_ = true;
      if (call.is_write()) own_.insert(call.file.empty() ? call.name : call.file);
    }
    return change.empty() ? found : change;
  }

 private:
  [[nodiscard]] std::string reason_of(const TrialCall& call) const {
    if (passed_.contains(call.file) && first_.written.contains(call.file)) return reason_of_place(call);
    if (call.is_write()) {
      if (first_.written.contains(call.file) && !own_.contains(call.file))
        return "it changes " + shown(call.file) + ", which " + name_ + " writes";
      if (first_.read.contains(call.file) && !own_.contains(call.file))
        return "it changes " + shown(call.file) + ", which " + name_ + " reads";
      if (first_.gone.contains(call.name)) return "it writes " + shown(call.name) + ", as " + name_ + " does";
    }
    if (own_.contains(call.file)) return {};
    if (call.letter == 'l' && (has_child(first_.written, call.file) || has_child(first_.named, call.file)))
      return "it lists the directory " + shown(call.file) + ", where " + name_ + " makes files";
    if ((call.letter == 's' || call.letter == 'r') && first_.written.contains(call.file) &&
        !passed_.contains(call.file))
      return "it looks for " + shown(call.file) + ", which " + name_ + " writes";
    if (call.letter == 'r' && first_.moved.contains(call.file))
      return "it reads " + shown(call.file) + ", whose directory " + name_ + " has renamed";
    return reason_of_place(call);
  }

  /// A link or a directory on the way to the file.
  [[nodiscard]] std::string reason_of_place(const TrialCall& call) const {
    for (const Path& place : first_.named) {
      if (second_.named.contains(place) || !leads_through(call.path, place)) continue;
      std::error_code error;
      if (std::filesystem::is_symlink(place, error))
        return "it uses the link " + shown(place) + ", which " + name_ + " makes";
      const bool is_needed_now = call.letter == 'd' || call.is_write() || call.name == place;
      if (is_needed_now && !has_waited_) return "it uses " + shown(place) + ", which " + name_ + " makes";
    }
    return {};
  }

  [[nodiscard]] std::string shown(const Path& path) const {
    const Path name = path.lexically_relative(directory_);
    return name == "." ? "of the workflow" : "'" + name.string() + "'";
  }

  const TriedProgram& first_;
  const TriedProgram& second_;
  const PathSet& passed_;
  Path directory_;
  std::string name_;
  PathSet own_;  ///< what the second program has written so far
  bool has_waited_ = false;
};

}  // namespace

std::vector<TrialOrder> find_order(const std::vector<TriedProgram>& tried, const PathSet& passed,
                                   const Path& directory, const std::vector<std::string>& names) {
  std::vector<TrialOrder> orders;
  for (std::size_t second = 1; second < tried.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      std::string reason = OrderFinder(tried[first], tried[second], passed, directory, names[first]).find();
      if (!reason.empty()) orders.push_back({first, second, std::move(reason)});
    }
  }
  return orders;
}

}  // namespace sluice::coordinator
