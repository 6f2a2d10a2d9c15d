#!/usr/bin/env python3
"""deviations.py CASE --reference PROGRAM --linked PROGRAM --expected FILE --directory DIRECTORY

Runs one case of deviations.c with Debian's libpnetcdf and with Sluice's library. Compares the output of
both with the line of the case in FILE: `case | ranks | 1.12.3 | here`. ` / ` separates different outputs
of the ranks. A run that ends too early is a `crash`; one that does not end is a `hang`.
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
TO_END_SECONDS = 100
TO_HANG_SECONDS = 3  # from its begin; only for what is expected to hang: load cannot make a test fail


def expectation(path, case):
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if cells[0] == case:
            return int(cells[1]), cells[2], cells[3]
    sys.exit(f"{path} has no line for {case}")


def reports(directory, ranks):
    paths = [directory / f"report.{rank}" for rank in range(ranks)]
    return [path.read_text().splitlines() if path.exists() else [] for path in paths]


def ends(process, directory, ranks, expected):
    started = time.monotonic()
    begun = None
    while process.poll() is None:
        now = time.monotonic()
        if begun is None and all(report[:1] == ["begin"] for report in reports(directory, ranks)):
            begun = now
        if now - started > TO_END_SECONDS or (expected == "hang" and begun is not None and now - begun > TO_HANG_SECONDS):
            return False
        time.sleep(0.05)
    return True


def outcome(program, case, directory, ranks, expected):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with open(directory / "output", "w") as output:
        launcher = MPIRUN + ["-n", str(ranks)] if ranks > 1 else []  # alone it starts in a quarter of the time
        process = subprocess.Popen(launcher + [str(program), case], cwd=directory, env=ENVIRONMENT, stdout=output, stderr=output,
                                   start_new_session=True)
        ended = ends(process, directory, ranks, expected)
        if not ended:
            process.send_signal(signal.SIGTERM)  # mpirun ends its ranks
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    shown = reports(directory, ranks)
    if any(report[-1:] != ["end"] for report in shown):
        return "crash" if ended else "hang"
    texts = ["; ".join(report[1:-1]) for report in shown]
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    for name in ("reference", "linked", "expected", "directory"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    options = parser.parse_args()
    ranks, *expected = expectation(options.expected, options.case)
    failures = 0
    for name, program, text in zip(("reference", "linked"), (options.reference, options.linked), expected):
        got = outcome(program, options.case, options.directory / name, ranks, text)
        if got != text:
            failures += 1
            print(f"{options.case} with {name}: {got}\n  expected: {text}\n  {options.directory / name}/output has what was printed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
