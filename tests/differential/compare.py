#!/usr/bin/env python3
"""Runs one program with Debian's libpnetcdf and with Sluice's library, preloaded and linked. Compares its
reports and its files.

compare.py --ranks N --reference PROGRAM --linked PROGRAM --library LIBRARY --directory DIRECTORY

Each run has its own directory below DIRECTORY: reference, preloaded, linked. Reports (report.RANK) must be
equal line by line. Files *.nc must have the same bytes, or else the same contents: ncvalidator, ncdump and
ncmpidiff decide.

--reports-only   does not compare files
--coupled        runs once more in a workflow whose files pass through memory; compares only the reports
--viewer         another component looks at all files that the program has left
--subfiles       runs once more with data in subfiles: ncvalidator must accept all of them, and
                 `sluice merge` must make the reference's files of them
--blobs          the same with data in blobs
--process-blobs  the same with data in one blob for each process
--burst-buffer   runs once more with the hint nc_burst_buf: same reports, same files, and no logs are left
--mpich          a build of the program for MPICH, linked with Sluice's library, is run in place of the preloaded and
                 the linked one, and in the workflow
"""
import argparse
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HYDRA = ["mpiexec.hydra"]
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def run(command, directory, seconds, **environment):
    try:
        result = subprocess.run(command, cwd=directory, env=dict(ENVIRONMENT, **environment), timeout=seconds,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        return result.returncode, result.stdout
    except subprocess.TimeoutExpired as expired:
        return 124, f"no end after {seconds} s\n" + (expired.stdout or b"").decode(errors="replace")


def run_program(options, name, program, preload, **environment):
    directory = options.directory / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    launch = (HYDRA if program == options.mpich else MPIRUN) + ["-n", str(options.ranks)] + (["-x", f"LD_PRELOAD={options.library}"] if preload else [])
    if options.ranks == 1 and program != options.mpich:  # without mpirun it starts in a quarter of the time
        launch = ["env", f"LD_PRELOAD={options.library}"] if preload else []
    code, output = run(launch + [str(program)] + options.arguments, directory, options.timeout, **environment)
    (directory / "output").write_text(output)
    return directory, code, output


FLOW = """version: 1
name: conformance
components:
  program:
    command: {command}
    ranks: {ranks}
    directory: .
files:
"""
RULE = """  - path: "{path}"
    writer: program
    readers: [program]
"""


def run_coupled(options):
    directory = options.directory / "coupled"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    command = json.dumps([str(options.mpich or options.reference)] + options.arguments)
    rules = "".join(RULE.format(path=path) for path in options.coupled.split(","))
    (directory / "flow.yaml").write_text(FLOW.format(command=command, ranks=options.ranks) + rules)
    code, output = run([str(options.sluice), "run", "--quiet", "flow.yaml"], directory, options.timeout)
    (directory / "output").write_text(output)
    return directory, code, output


VIEWED_FLOW = """version: 1
name: viewed
components:
  program:
    command: {program}
    ranks: {ranks}
    directory: .
  viewer:
    command: {viewer}
    ranks: {viewers}
    directory: views
files:
  - path: "*.nc"
    writer: program
    readers: [viewer]
"""


def compare_views(options, reference):
    """Who opens what the program has left finds the same with our library, and in another component of a workflow in memory."""
    names = sorted(p.name for p in reference.glob("*.nc"))
    viewers = 3 - options.ranks if options.ranks < 3 else 2
    views = reference / "views"
    views.mkdir()
    launch = MPIRUN + ["-n", str(viewers), str(options.viewer)] + [f"../{name}" for name in names]
    code, output = run(launch, views, options.timeout)
    problems = [f"the viewer fails ({code}):\n{output}"] if code else []
    views_by_us = reference / "views_by_us"
    views_by_us.mkdir()
    code, output = run(launch[:-1 - len(names)] + ["-x", f"LD_PRELOAD={options.library}"] + launch[-1 - len(names):], views_by_us, options.timeout)
    problems += [f"the viewer fails preloaded ({code}):\n{output}"] if code else []
    for rank in range(viewers):
        problems += differences(views / f"report.{rank}", views_by_us / f"report.{rank}")

    directory = options.directory / "viewed"
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "views").mkdir(parents=True)
    # The viewer looks when all is done: programs make some of their files several times.
    program = ["sh", "-c", '"$@" && touch done.$OMPI_COMM_WORLD_RANK', "sh", str(options.reference)] + options.arguments
    waiting = "".join(f"until [ -e ../done.{rank} ]; do sleep 0.05; done; " for rank in range(options.ranks))
    viewer = ["sh", "-c", waiting + 'exec "$@"', "sh", str(options.viewer)] + [f"../{name}" for name in names]
    (directory / "flow.yaml").write_text(VIEWED_FLOW.format(program=json.dumps(program), ranks=options.ranks, viewer=json.dumps(viewer), viewers=viewers))
    code, output = run([str(options.sluice), "run", "--quiet", "flow.yaml"], directory, options.timeout)
    if code:
        problems.append(f"the program and its viewer fail ({code}):\n{output}")
    for rank in range(viewers):
        problems += differences(views / f"report.{rank}", directory / "views" / f"report.{rank}")
    problems += [f"a coupled file is on the disk: {path}" for path in directory.glob("*.nc")]
    return problems


def differences(reference, other, is_burst=False):
    """With a burst buffer puts do not tell NC_ERANGE, and waits do not return the NC_EINVAL_REQUEST that an id has as its status."""
    left, right = ((d.read_text(errors="replace") if d.exists() else "") for d in (reference, other))
    if is_burst:
        left, right = (re.sub("NC_ERANGE|NC_EINVAL_REQUEST", "NC_NOERR", text) for text in (left, right))
    left, right = left.splitlines(), right.splitlines()
    return list(difflib.unified_diff(left, right, str(reference), str(other), lineterm="", n=1))


def dump(path):
    code, text = run(["ncdump", path.name], path.parent, 60)
    return text if code == 0 else f"ncdump failed: {text}"


def compare_files(reference, other):
    if reference.read_bytes() == other.read_bytes():
        return []
    problems = [text for text in [validate(other)] if text]
    dumps = [dump(p).splitlines() for p in (reference, other)]
    problems += list(difflib.unified_diff(*dumps, str(reference), str(other), lineterm="", n=1))[:40]
    code, text = run(["ncmpidiff", "-q", str(reference), str(other)], other.parent, 60)
    return problems + ([f"ncmpidiff: {text}"] if code else [])


def compare(options, reference, other, reports_only, is_burst=False):
    problems = []
    for rank in range(options.ranks):
        problems += differences(reference / f"report.{rank}", other / f"report.{rank}", is_burst)
    if not reports_only:
        names = [sorted(p.name for p in d.glob("*.nc")) for d in (reference, other)]
        if names[0] != names[1]:
            problems.append(f"files {names[0]} in {reference}, but {names[1]} in {other}")
        for name in sorted(set(names[0]) & set(names[1])):
            problems += compare_files(reference / name, other / name)
    return problems


def compare_merged(options, reference, split):
    """Merged with its other files, a file is the one that the reference wrote."""
    problems = []
    for master in sorted(p for p in split.glob("*.nc") if (split / f"{p.name}.subfile_0.nc").exists() or (split / f"{p.name}.0000").exists()):
        merged = split / "merged" / master.name
        merged.parent.mkdir(exist_ok=True)
        version = ["--format", str((reference / master.name).read_bytes()[3])] if (reference / master.name).exists() else []
        code, text = run([str(options.sluice), "merge", "--quiet", *version, str(master), str(merged)], split, 60)
        if (reference / master.name).exists():
            problems += [f"{master} cannot be merged: {text}"] if code else compare_files(reference / master.name, merged)
    return problems


def compare_split(options, reference, name, hints):
    other, code, output = run_program(options, name, options.reference, preload=True, PNETCDF_HINTS=hints)
    problems = [f"the program fails with {hints} ({code}):\n{output}"] if code else []
    problems += compare(options, reference, other, reports_only=True)
    for file in sorted(set(other.glob("*.nc")) | set(other.glob("*.nc.0*"))):
        if file.read_bytes()[:4] == b"\x89HDF":
            continue
        validity = validate(file)
        # What is no file for the reference either is part of the test.
        if validity and not ((reference / file.name).exists() and validate(reference / file.name)):
            problems.append(validity)
    return problems + ([] if options.reports_only else compare_merged(options, reference, other))


def validate(path):
    code, text = run(["ncvalidator", path.name], path.parent, 60)
    return f"ncvalidator {path}: {text}" if code else ""


def main():
    parser = argparse.ArgumentParser()
    for name in ("reference", "linked", "library", "directory"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--mpich", type=pathlib.Path, help="the program, built for MPICH")
    parser.add_argument("--sluice", type=pathlib.Path, help="the command")
    parser.add_argument("--coupled", help="patterns of the files that pass through memory, with commas between them")
    parser.add_argument("--viewer", type=pathlib.Path, help="a program that reports what it finds in the files that it is given")
    parser.add_argument("--subfiles", type=int, default=0)
    parser.add_argument("--blobs", type=int, default=0, help="number of files")
    parser.add_argument("--process-blobs", type=int, default=0, help="number of files")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=100)
    parser.add_argument("--burst-buffer", action="store_true")
    parser.add_argument("--reports-only", action="store_true")
    parser.add_argument("arguments", nargs="*", help="for the program")
    options = parser.parse_args()

    reference, code, output = run_program(options, "reference", options.reference, preload=False)
    problems = [f"the program fails with the reference ({code}):\n{output}"] if code else []
    others = [("mpich", options.mpich, False)] if options.mpich else [("preloaded", options.reference, True), ("linked", options.linked, False)]
    for name, program, preload in others:
        other, code, output = run_program(options, name, program, preload)
        if code:
            problems.append(f"the program fails {name} ({code}):\n{output}")
        problems += compare(options, reference, other, options.reports_only)
    if options.coupled:
        other, code, output = run_coupled(options)
        if code:
            problems.append(f"the program fails coupled ({code}):\n{output}")
        problems += [f"a coupled file is on the disk: {path}" for pattern in options.coupled.split(",") for path in other.glob(pattern)]
        problems += compare(options, reference, other, reports_only=True)
    if options.viewer:
        problems += compare_views(options, reference)
    if options.subfiles:
        problems += compare_split(options, reference, "subfiled", f"nc_num_subfiles={options.subfiles}")
    if options.blobs:
        problems += compare_split(options, reference, "blobs", f"sluice_layout=blob;nc_num_subfiles={options.blobs}")
    if options.process_blobs:
        problems += compare_split(options, reference, "process_blobs", f"sluice_layout=blob-process;nc_num_subfiles={options.process_blobs}")
    if options.burst_buffer:
        # One process flushes all at once, others in rounds of a few requests. Values out of range are told by the flush, and not by the put.
        hints = f"nc_burst_buf=enable;nc_burst_buf_dirname=.;nc_burst_buf_flush_buffer_size={64 * (options.ranks - 1)}"
        other, code, output = run_program(options, "burst", options.reference, preload=True, PNETCDF_HINTS=hints)
        if code:
            problems.append(f"the program fails with a burst buffer ({code}):\n{output}")
        problems += compare(options, reference, other, options.reports_only, is_burst=True)
        problems += [f"a log is left: {path}" for path in sorted(other.glob("*_*_*.meta")) + sorted(other.glob("*_*_*.data"))]
    print("\n".join(problems[:200]))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
