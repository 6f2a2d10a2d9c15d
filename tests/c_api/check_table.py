#!/usr/bin/env python3
"""Checks the table of functions in docs/pnetcdf-interface.md: check_table.py DOCUMENT SYMBOLS DIFFERENTIAL

Each exported function is in exactly one row: by its name, or else by the longest pattern (`inq_*`,
`put_var…`). The numbers are right. The tests that a row names exist. A function that a row names is called
in one of their sources.
The tables of deviations are checked, too. Each row is shown by a case of deviations.txt or by a test, and
each case is in one row.
"""
import pathlib
import re
import sys

document, symbols, differential = map(pathlib.Path, sys.argv[1:])
tests_folder = differential.parent
CALLS_ALL = "calls.h"  # whoever includes it calls all data functions of one variable


def rows():
    table = document.read_text().split("## Functions")[1].split("## ")[0]
    for line in re.findall(r"(?m)^\| (`.*) \|$", table):
        functions, count, tests = [cell.strip() for cell in line.split("|")]
        yield [f for f in re.findall(r"`([\w*…]+)`", functions) if f != "_all"], int(count), re.findall(r"`(\w+)`", tests)


def source(name):
    lines = re.findall(rf"sluice_differential_test\({name} SOURCES (\w+\.c)", (differential / "CMakeLists.txt").read_text())
    return (differential / lines[0]).read_text() if lines else None


def owner(function, table):
    """The index of the row, by the longest of the patterns that cover the function."""
    best = (-1, None)
    for i, (patterns, _, _) in enumerate(table):
        for pattern in patterns:
            regex = re.escape(pattern).replace(r"\*", ".*").replace("…", ".*")
            if re.fullmatch(regex, function):
                best = max(best, (len(pattern) + 100 * (regex == pattern), i))
    return best[1]


def is_test(name):
    """Whether a name like differential.modes or system.coupled.follow is that of a test: the last part is a word of the folder's CMakeLists.txt."""
    *folders, last = name.split(".")
    lists = tests_folder.joinpath(*folders, "CMakeLists.txt")
    return lists.exists() and re.search(rf"\b{last}\b", lists.read_text()) is not None


def problems_of_deviations():
    cases = re.findall(r"(?m)^(\w+) \|", (differential / "deviations.txt").read_text())
    shown = []
    for line in re.findall(r"(?m)^\| (.*) \|$", document.read_text().split("## Deviations")[1]):
        if line.startswith("where |"):
            continue
        names = re.findall(r"`([\w.]+)`", line.split("|")[-1])
        if not names:
            yield f"no test shows the deviation: {line}"
        yield from (f"{name}, which is to show a deviation, is no test" for name in names if "." in name and not is_test(name))
        shown += [name for name in names if "." not in name]
    yield from (f"{name} is no case of deviations.txt" for name in set(shown) - set(cases))
    yield from (f"the case {name} is in no row of the deviations" for name in set(cases) - set(shown))


table = list(rows())
names = [s.removeprefix("ncmpi_") for s in symbols.read_text().split() if not s.startswith("sluice_")]
problems, counts = list(problems_of_deviations()), [0] * len(table)
for name in names:
    i = owner(name, table)
    if i is None:
        problems.append(f"{name} is in no row")
    else:
        counts[i] += 1
for i, (patterns, count, tests) in enumerate(table):
    if counts[i] != count:
        problems.append(f"the row of {patterns[0]} has {counts[i]} functions, not {count}")
    if patterns[0].startswith("cdl_hdr_"):
        continue  # not in the library that is compared with
    sources = {test: source(test) for test in tests}
    problems += [f"there is no differential test {test}" for test, text in sources.items() if text is None]
    text = "\n".join(filter(None, sources.values()))
    for pattern in patterns:
        if not re.search(r"[*…]", pattern) and f"ncmpi_{pattern}(" not in text:
            problems.append(f"{pattern} is called in none of {', '.join(tests)}")
        elif "var…" in pattern and CALLS_ALL not in text and "ncmpi_" + pattern.rstrip("…") not in text:
            problems.append(f"{pattern} is called in none of {', '.join(tests)}")
print("\n".join(problems))
sys.exit(1 if problems else 0)
