#include "sluice/workflows/key_table.hpp"

#include <algorithm>
#include <map>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::workflows {
namespace {

/// Puts the value into a member. The words of an enumeration are in the order of its enumerators.
template <class Object, class Base, class Member>
SetIn<Object> member(Member Base::*place) {
  return [place](Object& object, std::int64_t value) { object.*place = static_cast<Member>(value); };
}

template <class Member>
SetIn<Component> member_of_failure(Member FailurePolicy::*place) {
  return [place](Component& component, std::int64_t value) {
    component.failure.*place = static_cast<Member>(value);
  };
}

/// For a truth whose first word means true.
template <class Object, class Base>
SetIn<Object> first_word_is_true(bool Base::*place) {
  return [place](Object& object, std::int64_t word) { object.*place = word == 0; };
}

const std::vector<Key>& table() {
  static const std::vector<Key> keys{
      {.section = KeySection::workflow,
       .name = "version",
       .kind = KeyKind::integer,
       .value = "`1`; required",
       .default_value = "",
       .is_required = true,
       .least = 1,
       .most = 1},
      {.section = KeySection::workflow,
       .name = "name",
       .kind = KeyKind::text,
       .value = "the run's name: letters, digits, `_`, `-`, `.`, at most 64, not beginning with `-` or `.`",
       .default_value = "the file's name without its extension"},
      {.section = KeySection::workflow,
       .name = "launcher",
       .kind = KeyKind::launcher,
       .value = "what starts components with ranks: `mpirun`, `mpiexec.hydra`, `srun`, `none`, or `{command: "
                "\"LAUNCHER -n {ranks} {program}\"}` ([launchers](launching.md#launchers))",
       .default_value = "`mpirun`",
       .words = {"mpirun", "mpiexec.hydra", "srun", "none"}},
      {.section = KeySection::workflow,
       .name = "hostfile",
       .kind = KeyKind::text,
       .value = "a file with the names of nodes, as `mpirun --hostfile` takes it, relative to the workflow "
                "file; only with `launcher: mpirun` ([several nodes](launching.md#several-nodes))",
       .default_value = "none"},
      {.section = KeySection::workflow,
       .name = "staging",
       .kind = KeyKind::staging,
       .value = "memory, disk and matchers ([staging](#staging))",
       .default_value = ""},
      {.section = KeySection::workflow,
       .name = "components",
       .kind = KeyKind::components,
       .value = "a mapping from names to [components](#a-component); required",
       .default_value = "",
       .is_required = true},
      {.section = KeySection::workflow,
       .name = "files",
       .kind = KeyKind::rules,
       .value = "a list of [file rules](#a-file-rule)",
       .default_value = "none: all files are ordinary ones"},
      {.section = KeySection::staging,
       .name = "memory",
       .kind = KeyKind::size,
       .value = "the limit for data in memory on each node, at least 1 MiB: bytes, or a number with a unit",
       .default_value = "a quarter of the physical memory, or of what the control group allows (a batch job, "
                        "a container)"},
      {.section = KeySection::staging,
       .name = "retain",
       .kind = KeyKind::size,
       .value = "how much data stays readable after all readers have closed it, so that a program may open "
                "it again",
       .default_value = "an eighth of `memory`, at most 16 MiB; and the last file of each rule in any case"},
      {.section = KeySection::staging,
       .name = "prewarm",
       .kind = KeyKind::size,
       .value = "how much of `memory` each node makes ready while components are being started",
       .default_value = "with huge pages and at least 64 MiB of `memory`, five quarters of what the former "
                        "run staged, or half of `memory`, at most 512 MiB; else `0`"},
      {.section = KeySection::staging,
       .name = "huge-pages",
       .kind = KeyKind::word,
       .value = "`auto`: segments of 2 MiB and more have huge pages where the system gives them; `off`: "
                "small pages",
       .default_value = "`auto`",
       .words = {"auto", "off"},
       .set = first_word_is_true<Workflow>(&Workflow::has_huge_pages)},
      {.section = KeySection::staging,
       .name = "spill",
       .kind = KeyKind::text,
       .value = "where data goes when `memory` is full: `auto`, `none`, or a directory relative to the "
                "workflow file",
       .default_value = "`auto`"},
      {.section = KeySection::staging,
       .name = "matchers",
       .kind = KeyKind::integer,
       .value =
           "matcher processes of a node; more than one in a run is an MPI job, started by `mpirun` or `srun`",
       .default_value = "`1`",
       .least = 1,
       .most = 1024,
       .set = member<Workflow>(&Workflow::matchers)},
      {.section = KeySection::staging,
       .name = "copy-threads",
       .kind = KeyKind::integer,
       .value = "the most threads by which a reader process copies the data of one large get, while so many "
                "cores are idle; with 1, the library starts no thread",
       .default_value = "`1`",
       .least = 1,
       .most = 64,
       .set = member<Workflow>(&Workflow::copy_threads)},
      {.section = KeySection::component,
       .name = "command",
       .kind = KeyKind::command,
       .value = "the program and its arguments, as a text or a list of words; required",
       .default_value = "",
       .is_required = true},
      {.section = KeySection::component,
       .name = "ranks",
       .kind = KeyKind::integer,
       .value = "MPI processes, started as one job by the launcher; `0`: a serial process, started directly",
       .default_value = "`0`",
       .most = 1'000'000,
       .set = member<Component>(&Component::ranks)},
      {.section = KeySection::component,
       .name = "directory",
       .kind = KeyKind::text,
       .value = "where it runs, relative to the workflow file; must exist",
       .default_value = "the workflow file's directory"},
      {.section = KeySection::component,
       .name = "environment",
       .kind = KeyKind::variables,
       .value = "variables to set: a mapping from names to texts",
       .default_value = ""},
      {.section = KeySection::component,
       .name = "launcher",
       .kind = KeyKind::launcher,
       .value = "what starts this component, with the values of the [launcher](launching.md#launchers) of "
                "the workflow",
       .default_value = "the workflow's",
       .words = {"mpirun", "mpiexec.hydra", "srun", "none"},
       .needs = "ranks"},
      {.section = KeySection::component,
       .name = "launcher-options",
       .kind = KeyKind::texts,
       .value = "words passed to the launcher before the program",
       .default_value = "none",
       .needs = "ranks"},
      {.section = KeySection::component,
       .name = "instances",
       .kind = KeyKind::integer,
       .value = "how many members it has ([ensembles](#ensembles)), at most 1000",
       .default_value = "`1`",
       .least = 1,
       .most = 1000,
       .excludes_jobs = true,
       .set = member<Component>(&Component::instances)},
      {.section = KeySection::component,
       .name = "at-most",
       .kind = KeyKind::integer,
       .value = "how many members run at a time, with `instances`; or how many jobs, with `for-each`",
       .default_value = "all; one job",
       .least = 1,
       .most = 1000,
       .excludes_jobs = true,
       .set = member<Component>(&Component::at_most)},
      {.section = KeySection::component,
       .name = "on-failure",
       .kind = KeyKind::word,
       .value = "what its failure does to the run: `continue` or `stop` ([failures](#failures))",
       .default_value = "`continue`",
       .words = {"continue", "stop"},
       .excludes_jobs = true,
       .set = member_of_failure(&FailurePolicy::stops_run)},
      {.section = KeySection::component,
       .name = "restarts",
       .kind = KeyKind::integer,
       .value = "how often it is started again after a failure",
       .default_value = "`0`",
       .most = 1'000'000,
       .excludes_jobs = true,
       .set = member_of_failure(&FailurePolicy::restarts)},
      {.section = KeySection::component,
       .name = "restart-delay",
       .kind = KeyKind::duration,
       .value = "the time before that: `500ms`, `1s`, `2min`, `1h`",
       .default_value = "`1s`",
       .needs = "restarts",
       .excludes_jobs = true},
      {.section = KeySection::component,
       .name = "start",
       .kind = KeyKind::word,
       .value = "`at-once`, or `when-done`: when the writers of all files that it reads have ended, while "
                "the data is still in memory",
       .default_value = "`at-once`",
       .words = {"at-once", "when-done"},
       .set = member<Component>(&Component::starts_when_done)},
      {.section = KeySection::component,
       .name = "opens-per-step",
       .kind = KeyKind::integer,
       .value = "how often its program opens a [stream](steps.md#programs-that-open-a-step-several-times) "
                "to read one step",
       .default_value = "`1`",
       .least = 1,
       .most = 1000,
       .set = member<Component>(&Component::opens_per_step)},
      {.section = KeySection::component,
       .name = "for-each",
       .kind = KeyKind::text,
       .value = "the `path` of a rule: it is started once for each published file of that rule "
                "([below](#a-job-for-each-file))",
       .default_value = "none: it is started once"},
      {.section = KeySection::job,
       .name = "for-each",
       .kind = KeyKind::text,
       .value = "the `path` of a rule that names the component among its `readers`",
       .default_value = ""},
      {.section = KeySection::job,
       .name = "at-most",
       .kind = KeyKind::integer,
       .value = "jobs at a time",
       .default_value = "`1`",
       .least = 1,
       .most = 1000,
       .set = member<ForEach>(&ForEach::at_most)},
      {.section = KeySection::job,
       .name = "every",
       .kind = KeyKind::integer,
       .value = "N: the first file, and every N-th behind it",
       .default_value = "`1`",
       .least = 1,
       .most = 1'000'000'000,
       .needs = "for-each",
       .set = member<ForEach>(&ForEach::every)},
      {.section = KeySection::job,
       .name = "latest",
       .kind = KeyKind::boolean,
       .value = "`true`: while a job runs, only the newest file waits for the next one",
       .default_value = "`false`",
       .needs = "for-each",
       .set = member<ForEach>(&ForEach::is_latest)},
      {.section = KeySection::job,
       .name = "order",
       .kind = KeyKind::word,
       .value = "`publication`: jobs start in the order in which files were published; `any`: the newest "
                "file first, because data of older ones may be on disk",
       .default_value = "`publication`",
       .words = {"publication", "any"},
       .needs = "for-each",
       .set = member<ForEach>(&ForEach::order)},
      {.section = KeySection::job,
       .name = "on-failure",
       .kind = KeyKind::retries,
       .value = "what follows a job that fails: `continue` with other files, `stop` the run, or `retry N` "
                "times and then continue",
       .default_value = "`continue`",
       .words = {"stop", "continue"}},
      {.section = KeySection::rule,
       .name = "path",
       .kind = KeyKind::text,
       .value = "a glob over the **trailing** components of a path; required",
       .default_value = "",
       .is_required = true},
      {.section = KeySection::rule,
       .name = "writer",
       .kind = KeyKind::text,
       .value = "the component that writes the files; required",
       .default_value = "",
       .is_required = true},
      {.section = KeySection::rule,
       .name = "readers",
       .kind = KeyKind::readers,
       .value = "a list of the components that read them, at least one; the writer may be one of them. Or a "
                "mapping from readers to [modes](steps.md#modes): `all`, `latest`, or a number N for every "
                "N-th step",
       .default_value = "",
       .is_required = true},
      {.section = KeySection::rule,
       .name = "through",
       .kind = KeyKind::word,
       .value =
           "what the data passes through: `memory`, `burst-buffer`, `file`, `subfiles` or `blobs` (below)",
       .default_value = "`memory`",
       .words = {matcher::through_words.begin(),
                 matcher::through_words.begin() + matcher::through_words_of_users},
       .set = member<FileRule>(&FileRule::through)},
      {.section = KeySection::rule,
       .name = "steps",
       .kind = KeyKind::word,
       .value =
           "`single`: a path is one dataset; an open waits for its first publication, later opens see the "
           "newest. `stream`: opens of a path go through its steps in order ([steps](steps.md#streams))",
       .default_value = "`single`",
       .words = {"single", "stream"},
       .set = member<FileRule>(&FileRule::is_stream)},
      {.section = KeySection::rule,
       .name = "queue",
       .kind = KeyKind::integer,
       .value = "how many unread steps a rule, or with `stream` a name, may hold ([queues](steps.md#queues))",
       .default_value = "no limit; `2` with `when-full: wait` or `discard`",
       .least = 1,
       .most = 1'000'000,
       .set = member<FileRule>(&FileRule::queue)},
      {.section = KeySection::rule,
       .name = "when-full",
       .kind = KeyKind::word,
       .value = "what happens then: `spill`: further data goes to disk; `wait`: the writer's create waits; "
                "`discard`: the oldest unread step goes",
       .default_value = "`spill`",
       .words = {"spill", "wait", "discard"},
       .set = member<FileRule>(&FileRule::when_full)},
      {.section = KeySection::rule,
       .name = "publish",
       .kind = KeyKind::publish,
       .value = "when readers see a file: at `close`, at the N-th `close:N`, at `exit`, at `sync` or at each "
                "`write` (below)",
       .default_value = "`close`",
       .words = {"close", "close:N", "exit", "sync", "write"}},
      {.section = KeySection::rule,
       .name = "keep",
       .kind = KeyKind::keep,
       .value = "whether a file is left on disk: `false`, `true`, or a list of variables (below)",
       .default_value = "`false`"},
      {.section = KeySection::rule,
       .name = "expose",
       .kind = KeyKind::boolean,
       .value = "`true`: published files are linked into their directories while the run goes on "
                "([below](#files-for-any-program-at-all))",
       .default_value = "`false`",
       .set = member<FileRule>(&FileRule::exposes)},
      {.section = KeySection::rule,
       .name = "expect",
       .kind = KeyKind::integer,
       .value =
           "how many files the run will have, or with `stream` how many steps: the progress shows it, and "
           "fewer are a warning ([progress](commands.md#progress))",
       .default_value = "not known",
       .least = 1,
       .most = 1'000'000'000,
       .set = member<FileRule>(&FileRule::expected)},
      {.section = KeySection::rule,
       .name = "optional",
       .kind = KeyKind::texts,
       .value = "a list of [patterns](paths.md#patterns) of files that the writer may never make: readers do "
                "not wait "
                "for them ([paths](paths.md#files-that-may-never-come))",
       .default_value = "none"},
      {.section = KeySection::rule,
       .name = "partition",
       .kind = KeyKind::word,
       .value = "how several matchers share the look-up of data: `range` divides each variable among them, "
                "`variable` gives them whole variables in turn",
       .default_value = "`range`",
       .words = {"range", "variable"},
       .set = member<FileRule>(&FileRule::partition)},
      {.section = KeySection::rule,
       .name = "identity",
       .kind = KeyKind::word,
       .value = "which paths are one file: `path` or `name` ([paths](paths.md#which-paths-are-one-file))",
       .default_value = "`path`",
       .words = {"path", "name"},
       .set = member<FileRule>(&FileRule::identity)},
      {.section = KeySection::rule,
       .name = "replay",
       .kind = KeyKind::word,
       .value = "`auto`: reads that repeat themselves from step to step need no matching; `off`: every read "
                "is matched anew",
       .default_value = "`auto`",
       .words = {"auto", "off"},
       .set = first_word_is_true<FileRule>(&FileRule::replays)},
      {.section = KeySection::rule,
       .name = "netcdf",
       .kind = KeyKind::word,
       .value = "what passes of a file that a program has by netCDF-C's functions: `hyperslabs` "
                "([netCDF](programs.md#netcdf-by-hyperslabs)), or the file's `bytes`",
       .default_value = "`hyperslabs`",
       .words = {"hyperslabs", "bytes"},
       .set = first_word_is_true<FileRule>(&FileRule::has_hyperslabs)},
  };
  return keys;
}

/// The sections whose keys a mapping may have.
bool belongs_to(KeySection key, KeySection mapping) {
  return key == mapping || (key == KeySection::job && mapping == KeySection::component);
}

std::vector<std::string> names_in(KeySection section) {
  std::vector<std::string> names;
  for (const Key& key : table())
    if (belongs_to(key.section, section) && std::ranges::find(names, key.name) == names.end())
      names.push_back(key.name);
  return names;
}

}  // namespace

std::span<const Key> all_keys() {
  return table();
}

const Key& key_of(KeySection section, std::string_view name) {
  return *std::ranges::find_if(table(),
                               [&](const Key& key) { return key.section == section && key.name == name; });
}

const std::vector<std::string>& key_names(KeySection section) {
  static const std::map<KeySection, std::vector<std::string>> names = [] {
    std::map<KeySection, std::vector<std::string>> all;
    for (const KeySection each : {KeySection::workflow, KeySection::staging, KeySection::component,
                                  KeySection::job, KeySection::rule})
      all[each] = names_in(each);
    return all;
  }();
  return names.at(section);
}

}  // namespace sluice::workflows
