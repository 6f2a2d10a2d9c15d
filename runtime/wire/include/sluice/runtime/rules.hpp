#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/runtime/protocol.hpp"
#include "sluice/runtime/resolved_path.hpp"

namespace sluice::runtime {

/// The access of a component to the files of a rule.
struct ClientRule {
  std::uint32_t rule = 0;  ///< index in the workflow's `files`
  std::string pattern;     ///< over the trailing path components (formats/path_pattern.hpp)
  bool writes = false;
  bool reads = false;
  matcher::Through through = matcher::Through::memory;
  bool is_drained = false;        ///< matcher::FileRule::is_drained: published data becomes a file
  bool is_by_name = false;        ///< matcher::Identity::name
  std::uint32_t closes = 1;       ///< matcher::FileRule::closes
  bool is_stream = false;         ///< matcher::FileRule::is_stream
  bool may_restart = false;       ///< the component is started again after a failure
  bool is_shown_at_sync = false;  ///< matcher::PublishAt::sync
  bool has_hyperslabs = false;    ///< netCDF's calls are coupled by hyperslabs
  bool offers_steps = false;      ///< matcher::FileRule::may_offer_steps
  bool offers_reads = false;      ///< matcher::FileRule::may_offer_reads
  bool is_done_anew = false;      ///< replay: off
};

/// A rule that does not name the component. Its files are ordinary files for this component, and coupled for
/// others.
struct OtherRule {
  std::uint32_t rule = 0;
  std::string pattern;
};

/// Identifies the run: SLUICE_RUN, "NUMBER-BEGIN".
struct RunIdentity {
  std::uint64_t number = 0;   ///< random; 0: none
  std::int64_t begin_ns = 0;  ///< since 1970
};
/// Reads the identity from this process's environment. Returns an empty identity when the variable is missing
/// or damaged.
[[nodiscard]] RunIdentity read_run_identity();
[[nodiscard]] std::string encode_run_identity(const RunIdentity& run);

/// The environment that `sluice run` gives to a component's processes; read once.
///   SLUICE_SOCKET     path of the socket of the machine's first matcher
///   SLUICE_MATCHERS, SLUICE_VIRTUAL_NODES   how a machine's matchers are shared (matcher_choice.hpp)
///   SLUICE_COMPONENT  name of the component
///   SLUICE_RULES      one line per rule that names this component:
///   "INDEX<TAB>w|r|rw[LETTERS][cCLOSES]<TAB>THROUGH<TAB>PATTERN"; the letters are in rules.cpp
///   SLUICE_OTHERS     one line per other rule: "INDEX<TAB>PATTERN"
///   SLUICE_RUN        which run this is
///   SLUICE_LOGS       directory for burst-buffer logs, if the workflow names one
///   SLUICE_COPY_THREADS   most threads for the copies of a get, if more than one
/// `sluice run` sets these variables; no others are needed. Without SLUICE_SOCKET every file is an ordinary
/// file.
struct ClientEnvironment {
  std::string socket_path;  ///< of this process's matcher
  std::string component;
  std::vector<ClientRule> rules;
  std::vector<OtherRule> others = {};
  RunIdentity run = {};
  std::string log_directory = {};  ///< directory of burst-buffer logs; empty: beside the netCDF file
  std::uint32_t copy_threads = 1;
  bool may_have_several_matchers = false;  ///< the ranks of this program
  [[nodiscard]] bool is_coupled() const noexcept { return !socket_path.empty(); }
};

/// Reads the variables above. Throws Error(NC_EINVAL) when SLUICE_RULES is damaged.
[[nodiscard]] ClientEnvironment read_client_environment();

/// The environment that `sluice attach` gives to a program that looks at a run: SLUICE_ATTACHED, the path of
/// the matcher's socket, and SLUICE_RULES. The component is matcher::attached_name. Empty without
/// SLUICE_ATTACHED. Throws as read_client_environment() does.
[[nodiscard]] ClientEnvironment read_attached_environment();

/// The lines of SLUICE_RULES.
[[nodiscard]] std::string encode_rules(const std::vector<ClientRule>& rules);

/// "INDEX<TAB>PATTERN\n"… for SLUICE_OTHERS.
[[nodiscard]] std::string encode_other_rules(const std::vector<OtherRule>& rules);

/// Returns the tail of `path` if `pattern` covers its trailing components. The tail has exactly as many
/// components as the pattern; with "**" it is the longest that the pattern covers. "." and doubled slashes
/// are removed, and ".." is resolved by name. Prefixes that MPI-IO knows ("ufs:", "nfs:") are stripped
/// before. A relative path that is too short for the pattern is completed from the working directory, and so
/// is any for a pattern with "**". A pattern that starts with a slash covers whole absolute paths only.
[[nodiscard]] std::optional<std::string> match_tail(std::string_view pattern, std::string_view path);

/// A coupled path: its rule, the key, and the file that it leads to.
struct RuleMatch {
  ClientRule rule;
  DatasetKey key;
  std::string file;         ///< resolved_path
  bool is_on_disk = false;  ///< the file exists

  [[nodiscard]] Open open(const Member& member, Purpose purpose = Purpose::read) const {
    Open open{key, member, file, purpose};
    open.is_on_disk = is_on_disk && purpose != Purpose::create;
    return open;
  }
};

/// The first rule that covers `path` as given, or the file that `path` leads to. Returns nothing for an
/// ordinary file. Accesses the file system, so only one of many processes calls it.
[[nodiscard]] std::optional<RuleMatch> find_rule(const ClientEnvironment& environment, std::string_view path,
                                                 LastLink last_link = LastLink::follow);

/// The first rule of other components that covers `path`; OrdinaryFile::no_rule when there is none.
[[nodiscard]] std::uint32_t find_other_rule(const ClientEnvironment& environment, std::string_view path);

}  // namespace sluice::runtime
