#include "figure_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sluice::coordinator {
namespace {

struct Word {
  std::string_view word, meaning;
};
constexpr std::array words{
    Word{"published", "files of which readers could see at least one step"},
    Word{"steps", "times that a file was written anew or written on, and published"},
    Word{"put", "bytes that programs wrote into the run; of a file that goes on, what was added"},
    Word{"puts", "calls that wrote, of each process; a file by the C library counts as one"},
    Word{"got", "bytes that PnetCDF's and netCDF's calls read from the run"},
    Word{"gets", "calls that read, of each process"},
    Word{"gets matched", "gets for which a matcher looked for the puts that have their elements"},
    Word{"gets replayed", "gets that went as those of an earlier step did, without a question"},
    Word{"replayed", "gets that went as those of an earlier step did, of all gets"},
    Word{"processor",
         "processor time of its processes on the machine of sluice run; who waits in MPI uses it, too"},
    Word{"waited", "time in create and open until the file or memory was there, of all processes together"},
    Word{"waited in open", "time in create and open until the file was there, of a process on average"},
    Word{"waited for memory", "time until memory for a put was there, of a process on average"},
    Word{"opens", "files that were opened by the C library to read them, once for each open"},
    Word{"opened", "their sizes; how much of them was read is not known"},
    Word{"open for writing", "time in which at least one process had the file open to write it"},
    Word{"open for reading", "time in which at least one process had the file open to read it"},
    Word{"put rate", "put by the time of open for writing, so with the programs' computing meanwhile"},
    Word{"get rate", "got by the time of open for reading, so with the programs' computing meanwhile"},
    Word{"median delay",
         "time from the publication of a step to its first open by the reader: half are less"},
    Word{"longest delay", "the longest time from the publication of a step to its first open"},
    Word{"most unread", "steps that were published, and not yet opened by the reader, at the worst time"},
    Word{"on disk", "bytes that were written to the file that the rule keeps"}};

}  // namespace

std::string_view meaning_of(std::string_view word) noexcept {
  const auto* const found = std::ranges::find(words, word, &Word::word);
  return found == words.end() ? std::string_view() : found->meaning;
}

std::string explained_words() {
  constexpr std::size_t width = 19;
  std::string text;
  for (const Word& word : words) {
    std::string line(word.word);
    line.resize(width, ' ');
    text += line + std::string(word.meaning) + "\n";
  }
  return text;
}

}  // namespace sluice::coordinator
