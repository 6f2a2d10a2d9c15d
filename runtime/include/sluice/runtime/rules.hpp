#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/runtime/protocol.hpp"
#include "sluice/runtime/resolved_path.hpp"

namespace sluice::runtime {

/// What a component may do with the files of a rule.
struct ClientRule {
  std::uint32_t rule = 0;  ///< index in the workflow's `files`
  std::string pattern;  ///< glob (*, ?, [..]) over the trailing path components, '/' not matched by wildcards
  bool writes = false;
  bool reads = false;
  matcher::Through through = matcher::Through::memory;
  bool is_drained = false;  ///< matcher::FileRule::is_drained: what is published becomes a file
  matcher::Identity identity = matcher::Identity::path;
};

/// A rule that does not name the component: what it covers is an ordinary file here, and coupled for others.
struct OtherRule {
  std::uint32_t rule = 0;
  std::string pattern;
};

/// Which run this is: SLUICE_RUN, "NUMBER-BEGIN".
struct RunIdentity {
  std::uint64_t number = 0;   ///< random; 0: none
  std::int64_t begin_ns = 0;  ///< since 1970
};
/// Of this process's environment; nothing is known where it is not set or damaged.
[[nodiscard]] RunIdentity read_run_identity();
[[nodiscard]] std::string encode_run_identity(const RunIdentity& run);

/// The environment that `sluice run` gives to a component's processes; read once.
///   SLUICE_SOCKET     path of the socket of the machine's first matcher
///   SLUICE_MATCHERS, SLUICE_VIRTUAL_NODES   how a machine's matchers are shared (matcher_choice.hpp)
///   SLUICE_COMPONENT  name of the component
///   SLUICE_RULES      one line per rule that names this component:
///   "INDEX<TAB>w|r|rw[d][n]<TAB>THROUGH<TAB>PATTERN"; d: drained, n: identity is by name
///   SLUICE_OTHERS     one line per rule that does not: "INDEX<TAB>PATTERN"
///   SLUICE_RUN        which run this is
///   SLUICE_LOGS       directory for burst-buffer logs, if the workflow names one
/// `sluice run` sets these, and nothing else is needed; without SLUICE_SOCKET every file is an ordinary file.
struct ClientEnvironment {
  std::string socket_path;  ///< of this process's matcher
  std::string component;
  std::vector<ClientRule> rules;
  std::vector<OtherRule> others = {};
  RunIdentity run = {};
  std::string log_directory = {};  ///< of burst-buffer logs; empty: beside the netCDF file
  [[nodiscard]] bool is_coupled() const noexcept { return !socket_path.empty(); }
};

/// Reads the variables above. Throws Error(NC_EINVAL) when SLUICE_RULES is damaged.
[[nodiscard]] ClientEnvironment read_client_environment();

/// "INDEX<TAB>w|r|rw[d][n]<TAB>memory|burst-buffer|subfiles|blobs|file<TAB>PATTERN\n"… for SLUICE_RULES.
[[nodiscard]] std::string encode_rules(const std::vector<ClientRule>& rules);

/// "INDEX<TAB>PATTERN\n"… for SLUICE_OTHERS.
[[nodiscard]] std::string encode_other_rules(const std::vector<OtherRule>& rules);

/// Whether `pattern` covers the trailing components of `path`; then its tail: exactly as many trailing
/// components as the pattern has, "." and doubled slashes removed and ".." resolved by name. Prefixes that
/// MPI-IO knows ("ufs:", "nfs:") are stripped before. A relative path that is too short for the pattern is
/// taken from the working directory; a pattern that starts with a slash covers whole absolute paths only.
[[nodiscard]] std::optional<std::string> match_tail(std::string_view pattern, std::string_view path);

/// A path that is coupled: by which rule, the key, and the file that it leads to.
struct RuleMatch {
  ClientRule rule;
  DatasetKey key;
  std::string file;         ///< resolved_path
  bool is_on_disk = false;  ///< the file is there
};

/// The first rule that covers `path` as it is given, or the file that it leads to; nothing when that is an
/// ordinary file. Looks at the file system, so of many processes one does it for all.
[[nodiscard]] std::optional<RuleMatch> find_rule(const ClientEnvironment& environment, std::string_view path,
                                                 LastLink last_link = LastLink::follow);

/// The first rule of others that covers `path`; OrdinaryFile::no_rule when there is none.
[[nodiscard]] std::uint32_t find_other_rule(const ClientEnvironment& environment, std::string_view path);

}  // namespace sluice::runtime
