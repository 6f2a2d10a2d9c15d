#include "rank_terminals.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>

#include <array>

#include "sluice/runtime/matcher_choice.hpp"

namespace sluice::coordinator {
namespace {

using runtime::FileDescriptor;

/// Makes the terminal raw: bytes pass unchanged.
bool make_raw(const FileDescriptor& terminal) {
  termios settings{};
  if (::tcgetattr(terminal.number(), &settings) != 0) return false;
  ::cfmakeraw(&settings);
  return ::tcsetattr(terminal.number(), TCSANOW, &settings) == 0;
}

bool add_terminal(RankTerminals& terminals, const std::filesystem::path& link) {
  FileDescriptor master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master || ::grantpt(master.number()) != 0 || ::unlockpt(master.number()) != 0) return false;
  std::array<char, 128> name{};
  if (::ptsname_r(master.number(), name.data(), name.size()) != 0) return false;
  FileDescriptor slave(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!slave || !make_raw(slave)) return false;
  std::error_code error;
  std::filesystem::remove(link, error);  // of an earlier start
  std::filesystem::create_symlink(name.data(), link, error);
  if (error) return false;
  terminals.read_ends.push_back(std::move(master));
  terminals.kept_open.push_back(std::move(slave));
  return true;
}

}  // namespace

std::optional<RankTerminals> open_rank_terminals(const std::filesystem::path& directory,
                                                 const std::string& component, int ranks) {
  if (ranks > most_rank_terminals) return std::nullopt;
  RankTerminals terminals;
  terminals.prefix = directory / ("stdout." + component);
  for (int rank = 0; rank < ranks; ++rank) {
    if (!add_terminal(terminals, terminals.prefix.string() + '.' + std::to_string(rank))) return std::nullopt;
  }
  return terminals;
}

std::vector<std::string> redirected_to_terminal(const std::filesystem::path& prefix,
                                                std::vector<std::string> command) {
  std::string rank;  // the first variable that is set
  for (const runtime::RankVariables& names : runtime::rank_variables)
    rank += std::string("${") + names.rank + '-';
  rank += std::string(runtime::rank_variables.size(), '}');
  std::vector<std::string> words{
      "sh", "-c", "r=" + rank + R"(; [ -e "$0.$r" ] && exec "$@" >"$0.$r"; exec "$@")", prefix.string()};
  words.insert(words.end(), std::make_move_iterator(command.begin()), std::make_move_iterator(command.end()));
  return words;
}

}  // namespace sluice::coordinator
