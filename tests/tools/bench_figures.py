#!/usr/bin/python3
"""bench_figures.py SOURCE: `tools/bench --write` puts what a run has measured into the table of docs/performance.md, and leaves the rest."""
import json
import os
import subprocess
import sys
import tempfile

source = sys.argv[1]
with open(source + "/docs/performance.md", encoding="utf-8") as file:
    BEFORE = file.read()


def expect(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def line(what, value, unit, bound, aim):
    return {"what": what, "value": value, "unit": unit, "bound": bound, "aim": f"{aim} {bound:g}", "holds": value <= bound if aim == "≤" else value >= bound}


def written(results, page=BEFORE, status=0):
    """The page after `tools/bench --results … --write`, with the machine of the test."""
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("bench.json", "performance.md")]
        machine = {"processor": "Abacus", "cores": 2, "load_average": [0.1, 0, 0], "time": "2026-12-24T18:00:00+01:00"}
        for name, text in zip(names, (json.dumps({"machine": machine, **results}), page)):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        ended = subprocess.run([source + "/tools/bench", "--results", names[0], "--write", names[1]], capture_output=True, text=True, check=False)
        expect((ended.returncode == 0) == (status == 0), ended.stdout + ended.stderr)
        with open(names[1], encoding="utf-8") as file:
            return file.read()


def rows(text):
    return {row.split(" | ")[0].removeprefix("| "): row for row in text.splitlines() if row.startswith("| ") and "`--only" in row}


RESULTS = {
    "figures": [{"what": "a step on one node / two memcpys, 8 MiB and more", "bound": 1.3, "reference": "copies", "ratios": {"8": 1.5, "64": 1.1}},
                {"what": "a step / the same pieces by raw MPI", "bound": 1, "reference": "mpi", "ratios": {"64": 0.5}}],
    "small": [line("a step of 64 KiB, 1 + 1 processes", 0.04, "ms", 0.05, "≤"), line("a step of 8 MiB, 2 + 2 processes / two memcpys", 1.4, "", 1.3, "≤")],
    "requests": [line("put of 8 bytes", 0.25, "us", 1, "≤"), {"what": "history", "figures": {}}],
    "matching": {"lines": [line("1000000 one-element requests against as many, shuffled", 0.5, "s", 1, "≤")]},
    "memory": [line("staged memory / (1.1 x bytes + 100 a request), 64 MiB in 2 requests", 0.9, "", 1, "≤")],
    "handover": {"files": [{"how": "put", "count": 8, "bytes": 64 << 20, "samples": [[10, 12, 1]]}, {"how": "write", "count": 1000, "bytes": 16 << 10, "samples": [[0.02, 0.04, 1]]}],
                 "opens": 1.01, "start_ms": 2.0},
    "jobs": {"cp": [[1, 2]]},
    "watching": [{"kibibytes": 64, "rounds": [{"as usual": 1.0, "no records": 1.0}]}],
    "ways": {"within": 100, "cases": 144},
    "matchers": [{"mebibytes": 64, "median_ms": {"mpi": 2, "nodes": 4}}],
    "ranks": {"tables": ["1000 nodes, 65536 writers, 65536 readers\n" + "\n".join(f"together   {value}.0 1 2" for value in (90, 80, 51, 52, 53))]},
}

after = written(RESULTS)
old, new = rows(BEFORE), rows(after)
expect(set(old) == set(new), f"rows came or went: {set(old) ^ set(new)}")
changed = {figure for figure in new if new[figure] != old[figure]}
expect(len(changed) == 16 and all("Abacus, 2 cores, load 0.1, 2026-12-24" in new[figure] for figure in changed), f"changed: {changed}")
expect("1.10–1.50 at 8, 64 MiB; **missed** at 8 MiB (1.50)" in new["a step on one node / two memcpys, 8 MiB and more"], "a step at two sizes")
expect("| ≥ 1 | 2.00 at 64 MiB |" in new["a step / the same pieces by raw MPI: speed"], "a speed")
expect("| ≤ 0.05 ms | 0.04 ms |" in new["a step of 64 KiB, 1 + 1 processes"], "a figure that holds")
expect("| **missed**: 1.40 |" in new["a step of 8 MiB, 2 + 2 processes / two memcpys"], "a figure that is missed")
expect("| **missed**: 52 ms |" in new["matcher 0, a file of 65,536 writers and as many readers"], "the median of later files")
outside = [text.split("<!-- figures")[0] + text.split("<!-- end of figures")[1] for text in (BEFORE, after)]
expect(outside[0] == outside[1], "the page around the table has changed")

more = written({"memory": [line("a figure that is new", 2.0, "", 1, "≤")]})
expect(set(rows(more)) == set(old) | {"a figure that is new"} and all(rows(more)[figure] == old[figure] for figure in old), "a new figure")
expect(written(RESULTS, page="No table.\n", status=1) == "No table.\n", "a page without the table")
