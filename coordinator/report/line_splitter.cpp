#include "line_splitter.hpp"

#include <algorithm>

namespace sluice::coordinator {

void LineSplitter::emit() {
  sink_(line_);
  line_.clear();
}

void LineSplitter::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const bool second_half = after_return_ && bytes.front() == '\n';
    after_return_ = false;
    if (second_half) {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    const std::size_t taken = std::min(end, longest_line_bytes - line_.size());
    line_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (taken == end && !bytes.empty()) {
      after_return_ = bytes.front() == '\r';
      bytes.remove_prefix(1);
      emit();
    } else if (line_.size() == longest_line_bytes && !bytes.empty()) {
      emit();
    }
  }
}

void LineSplitter::finish() {
  if (!line_.empty()) emit();
}

}  // namespace sluice::coordinator
