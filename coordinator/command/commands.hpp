#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sluice::coordinator {

/// The arguments after the command's name.
using Arguments = std::vector<std::string>;

/// Prints the help of a command if its first argument asks for it, and returns whether it does.
[[nodiscard]] bool prints_help(const Arguments& arguments, std::string_view help);

/// `sluice run`, `check`, `exec`. Each function returns the exit status. It prints mistakes in the command
/// line or the workflow on stderr.
[[nodiscard]] int run_command(const Arguments& arguments);
[[nodiscard]] int check_command(const Arguments& arguments);
[[nodiscard]] int exec_command(const Arguments& arguments);
/// `sluice recover` writes burst-buffer logs into files; `sluice log` prints them.
[[nodiscard]] int recover_command(const Arguments& arguments);
[[nodiscard]] int log_command(const Arguments& arguments);
/// `sluice merge` joins several files into one.
[[nodiscard]] int merge_command(const Arguments& arguments);

/// `sluice ls` lists the runs of this user and what they have published, `sluice cp` copies a published file,
/// `sluice attach` starts a program that sees published files.
[[nodiscard]] int ls_command(const Arguments& arguments);
[[nodiscard]] int cp_command(const Arguments& arguments);
[[nodiscard]] int attach_command(const Arguments& arguments);

/// `sluice runs` lists runs that go on and that have ended, `sluice clean` removes logs of the latter.
[[nodiscard]] int runs_command(const Arguments& arguments);
[[nodiscard]] int clean_command(const Arguments& arguments);

/// `sluice status` says what a run does now, `sluice serve` shows it in the browser.
[[nodiscard]] int status_command(const Arguments& arguments);
[[nodiscard]] int serve_command(const Arguments& arguments);

/// `sluice graph` draws a workflow, `sluice report` makes a page of what a run has done.
[[nodiscard]] int graph_command(const Arguments& arguments);
[[nodiscard]] int report_command(const Arguments& arguments);

/// `sluice verify` compares a run through files with one through memory.
[[nodiscard]] int verify_command(const Arguments& arguments);

/// `sluice schema` prints what editors and manuals need of the workflow file.
[[nodiscard]] int schema_command(const Arguments& arguments);
/// `sluice init` writes a first workflow for given programs.
[[nodiscard]] int init_command(const Arguments& arguments);
/// `sluice import-dtf` writes the workflow that a DTF configuration describes.
[[nodiscard]] int import_dtf_command(const Arguments& arguments);

/// The whole program: selects the command and runs it. Called by main(). `arguments` excludes the program's
/// name.
[[nodiscard]] int dispatch(const Arguments& arguments);

}  // namespace sluice::coordinator
