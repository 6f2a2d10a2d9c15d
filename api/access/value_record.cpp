#include "value_record.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "sluice/matcher/fingerprint.hpp"

namespace sluice::api {
namespace {

constexpr std::size_t shown_slabs = 16;

/// The record of this process, open for appending; -1 without one. Stays open until the process ends.
int open_record() noexcept {
  const char* const directory = std::getenv("SLUICE_RECORD_VALUES");
  if (directory == nullptr) return -1;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string path = std::string(directory) + '/' + std::to_string(rank);
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

int record() noexcept {
  static const int descriptor = open_record();
  return descriptor;
}

matcher::Fingerprint fingerprint_of(const Access& access) {
  matcher::FingerprintBuilder builder;
  for (const auto& slab : access.slabs) builder.add(slab, 0);
  builder.add_bytes({static_cast<const std::byte*>(access.buffer),
                     static_cast<std::size_t>(access.elements) * formats::size_of(access.memory)});
  return builder.value();
}

std::string hexadecimal(std::uint64_t number) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += digits[(number >> shift) & 15U];
  return text;
}

void append_numbers(std::string& line, std::span<const std::int64_t> numbers) {
  for (std::size_t d = 0; d < numbers.size(); ++d) line += (d == 0 ? "" : ",") + std::to_string(numbers[d]);
}

void append_slabs(std::string& line, std::span<const formats::HyperslabView> slabs) {
  for (std::size_t i = 0; i < std::min(slabs.size(), shown_slabs); ++i) {
    if (i > 0) line += ';';
    append_numbers(line, slabs[i].start);
    line += ':';
    append_numbers(line, slabs[i].count);
    if (slabs[i].stride.empty()) continue;
    line += ':';
    append_numbers(line, slabs[i].stride);
  }
  if (slabs.size() > shown_slabs) line += "+" + std::to_string(slabs.size() - shown_slabs);
}

/// The path in one line: a control character in it becomes a question mark.
std::string shown_path(const std::string& path) {
  std::string text = std::filesystem::absolute(path).lexically_normal().string();
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  }
  return text;
}

void append_lines(const Dataset& dataset, std::span<const Access> accesses, std::string_view verb) {
  std::string path = shown_path(dataset.path);
  if (dataset.stream_number > 0) path += ".step-" + std::to_string(dataset.stream_number);
  std::string lines;
  for (const Access& access : accesses) {
    const bool has_values = access.status == NC_NOERR || access.status == NC_ERANGE;
    const auto fingerprint =
        has_values && access.buffer != nullptr ? fingerprint_of(access) : matcher::Fingerprint();
    lines += std::string(verb) + '\t' + path + '\t' + dataset.header.variable(access.varid).name + '\t' +
             std::to_string(access.elements) + '\t' + std::to_string(access.status) + '\t' +
             hexadecimal(fingerprint.high) + hexadecimal(fingerprint.low) + '\t';
    append_slabs(lines, access.slabs);
    lines += '\n';
  }
  // One call: lines of other threads and processes do not come between.
  static_cast<void>(!::write(record(), lines.data(), lines.size()));
}

void record_accesses(const Dataset& dataset, std::span<const Access> accesses,
                     std::string_view verb) noexcept {
  if (record() < 0 || accesses.empty()) return;
  try {
    append_lines(dataset, accesses, verb);
  } catch (...) {  // a record that lacks a line is told by the comparison
  }
}

}  // namespace

void record_gets(const Dataset& dataset, std::span<const Access> accesses) noexcept {
  record_accesses(dataset, accesses, "get");
}

void record_puts(const Dataset& dataset, std::span<const Access> accesses) noexcept {
  record_accesses(dataset, accesses, "put");
}

}  // namespace sluice::api
