#!/usr/bin/python3
"""progress.py BUILD PROGRAM CASE: what `sluice run` shows of the progress of PROGRAM (couple.c)."""
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios

sys.path.append(os.path.dirname(sys.path[0]))
from harness import MPI_ENVIRONMENT, allow, call, clear_directory, expect, finish, start, wait_for, write_flow

build, program, case = sys.argv[1:4]
SLUICE = build + "/bin/sluice"
COLUMNS, ROWS = 80, 24


class Screen:
    """What a terminal shows of the text that it has got: lines that are written over, and those above them."""

    def __init__(self):
        self.rows, self.row, self.column, self.rest = [""], 0, 0, ""
        self.wrapped = []

    def feed(self, text):
        text = self.rest + text
        # a sequence that is cut off waits for its rest
        cut = re.search(r"\x1b(\[[0-9;]*)?$", text)
        self.rest = text[cut.start():] if cut else ""
        for sequence, number, kind, character in re.findall(r"(\x1b\[([0-9;]*)([A-Za-z]))|(?s:(.))", text[:cut.start()] if cut else text):
            if sequence:
                self.control(number, kind)
            elif character == "\r":
                self.column = 0
            elif character == "\n":
                self.row += 1
                self.rows += [""] * (self.row + 1 - len(self.rows))
            else:
                self.put(character)

    def control(self, number, kind):
        if kind == "A":
            self.row -= int(number or 1)
            expect(self.row >= 0, "the cursor goes above the first line")
        elif kind == "J":
            self.rows[self.row] = self.rows[self.row][:self.column]
            del self.rows[self.row + 1:]
        elif kind == "K":
            self.rows[self.row] = self.rows[self.row][:self.column]
        else:
            expect(kind == "m", f"the sequence {kind} is not expected")

    def put(self, character):
        if self.column == COLUMNS:
            self.wrapped.append(self.rows[self.row])
            self.row, self.column = self.row + 1, 0
            self.rows += [""] * (self.row + 1 - len(self.rows))
        line = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = line[:self.column] + character + line[self.column + 1:]
        self.column += 1

    def text(self):
        return "\n".join(self.rows)


class Terminal:
    """A run of `sluice` on a pseudo-terminal."""

    def __init__(self, *options, environment=None):
        self.outer, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.raw, self.screen = b"", Screen()
        self.pending = b""
        self.process = subprocess.Popen([SLUICE, "run", "--log-dir", "log", *options, "flow.yaml"], stdin=subprocess.DEVNULL, stdout=inner, stderr=inner,
                                        env={**os.environ, "TERM": "xterm", **(environment or {})})
        os.close(inner)

    def look(self):
        """Takes what has come; false at the end."""
        if not select.select([self.outer], [], [], 0.05)[0]:
            return True
        try:
            got = os.read(self.outer, 65536)
        except OSError:
            got = b""
        self.raw += got
        self.pending += got
        text = self.pending.decode(errors="ignore")
        if "\ufffd" not in self.pending.decode(errors="replace"):
            self.pending = b""
            self.screen.feed(text)
        return bool(got)

    def await_screen(self, pattern):
        def shown():
            if not self.look():
                sys.exit(f"FAILED: the run ended without: {pattern}\n{self.screen.text()}")
            return re.search(pattern, self.screen.text(), re.M)

        return wait_for(shown, f"on the screen: {pattern}")

    def finish(self, status=0):
        wait_for(lambda: not self.look(), "the end of the output")
        expect(self.process.wait() == status, f"exit status {self.process.returncode}\n{self.screen.text()}")
        print(self.screen.text(), flush=True)


def table():
    """Below the lines of the components there is one line for each component, never wrapped, which goes in the end."""
    long_name = "a_" + "long" * 30 + ".nc"
    write_flow(program, {"model": (1, f"write a.nc 10 say hello await go write {long_name} 10"), "analysis": (2, f"read a.nc 10 read {long_name} 10")},
               [("*.nc", "model", ["analysis"])])
    terminal = Terminal(environment={"NO_COLOR": ""})
    terminal.await_screen(r"^  analysis +1 step .*waits \d+ s for 'a_long.*…$")
    shown = terminal.screen.rows
    expect(re.match(r"\d\d:\d\d  memory .* of .* put, .* got$", shown[-3]) and re.match(r"  model +1 step +.*computes$", shown[-2]), f"the table: {shown[-3:]}")
    expect(len(shown[-1]) == COLUMNS - 1, f"the line is not cut to the terminal: {shown[-1]}")
    expect(shown.count("[model] hello") == 1 and sum(line.startswith("  analysis") for line in shown) == 1, "the table is not replaced")
    first = re.search(r"waits (\d+) s", shown[-1])[1]
    terminal.await_screen(rf"^  analysis .*waits (?!{first} )\d+ s for")
    expect(b"\x1b[36m[model]\x1b[0m hello" in terminal.raw and b"\x1b[33m  analysis" in terminal.raw, "the colours")
    wrapped = [line for line in terminal.screen.wrapped if re.match(r"  |\d\d:", line)]
    expect(not wrapped, f"lines of the table wrap: {wrapped}")
    allow("go")
    terminal.finish()
    text = terminal.screen.text()
    expect("  analysis   " not in text and re.search(r"^test: finished after", text, re.M), "the end: the table stays, or there is no summary")
    plain = Terminal(environment={"NO_COLOR": "1"})
    plain.finish()
    expect(b"\x1b[3" not in plain.raw and b"\x1b[J" in plain.raw, "NO_COLOR leaves the table, without colours")


def lines():
    """Without a terminal there are no control characters, and a line only after ten seconds. On a terminal, --progress lines does the same."""
    write_flow(program, {"model": (1, "write a.nc 10 await go write b.nc 10"), "analysis": (1, "read a.nc 10 read b.nc 10")}, [("*.nc", "model", ["analysis"])])
    open("errors.txt", "w").close()
    run = start("sh", "-c", f"exec {SLUICE} run --log-dir log flow.yaml 2> errors.txt")

    def progress():
        with open("errors.txt") as errors:
            return re.findall(r"^\[sluice\] 00:\d\d  .*$", errors.read(), re.M)

    wait_for(progress, "a line of progress")
    allow("go")
    finish(run, 0)
    expect(re.fullmatch(r"\[sluice\] 00:1\d  model 1 step( \(.*\))?; analysis 1 step( \(.*\))?, waits \d+ s for 'b.nc' from model", progress()[0]), f"the line: {progress()}")
    expect("\x1b" not in open("errors.txt").read(), "control characters")
    terminal = Terminal("--progress", "lines")
    terminal.finish()
    expect(b"\x1b[J" not in terminal.raw, "--progress lines draws a table")


def objects_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def json_case():
    """--progress json: an object on each line, with the documented keys, and the end as the last one."""
    write_flow(program, {"model": (1, "write a.nc 1000 await go write b.nc 10"), "analysis": (1, "read a.nc 1000 read b.nc 10 await more")},
               [("*.nc", "model", ["analysis"], "keep: true")])
    open("errors.txt", "w").close()
    run = start("sh", "-c", f"exec {SLUICE} run --log-dir log --progress json flow.yaml 2> errors.txt")

    def last(state, **wanted):
        def look():
            with open("errors.txt") as errors:
                text = errors.read()
            objects = objects_of(text[:text.rfind("\n") + 1])
            for each in objects[-1]["components"] if objects and objects[-1]["state"] == "running" else []:
                if each["name"] == "analysis" and each["state"] == state and all(each.get(key) == value for key, value in wanted.items()):
                    return objects[-1], each
            return None

        return wait_for(look, f"analysis {state} {wanted}")

    report, analysis = last("waiting", done=1)
    expect(analysis["waits_for"] == "'b.nc' from model" and analysis["waits_ms"] >= 0 and "all" not in analysis, f"the wait: {analysis}")
    expect(report["put_bytes"] == 8000 and report["get_bytes"] == 8000 and 0 < report["used_bytes"] <= report["limit_bytes"], f"bytes: {report}")
    allow("go")
    report, analysis = last("computing", done=2, all=2)
    model = report["components"][0]
    expect((model["name"], model["state"], model["text"], model["done"], model["unit"]) == ("model", "ended", "finished", 2, "step"), f"the model: {model}")
    allow("more")
    finish(run, 0)
    end = objects_of(open("errors.txt").read())[-1]
    expect((end["state"], end["exit_status"], end["text"]) == ("ended", 0, "finished") and end["time_ms"] > 0, f"the end: {end}")
    with open(os.path.join(os.path.dirname(build), "docs", "commands.md")) as page:
        text = page.read()
    known = set(re.findall(r"`([a-z_]+)`", text[text.index("### Progress for programs"):].split("\n### ")[0]))
    used = {key for each in objects_of(open("errors.txt").read()) for key in each} | {key for each in report["components"] for key in each} | set(analysis)
    expect(used <= known, f"keys that are not documented: {used - known}")


def none():
    write_flow(program, {"model": (1, "write a.nc 10"), "analysis": (1, "read a.nc 10")}, [("*.nc", "model", ["analysis"])])
    terminal = Terminal("--progress", "none")
    terminal.finish()
    expect(b"\x1b[J" not in terminal.raw and b"finished" in terminal.raw, "--progress none")
    quiet = Terminal("--quiet")
    quiet.finish()
    expect(not quiet.raw, f"--quiet prints {quiet.raw}")
    expect("it must be auto, lines, json or none" in call(SLUICE, "run", "--progress", "bar", "flow.yaml", status=2).err, "a wrong form")


def ensemble():
    """Members and jobs are summed up in one line each."""
    with open("flow.yaml", "w") as flow:
        flow.write(f"""version: 1
name: test
staging: {{prewarm: 0}}
components:
  model: {{command: "{program} write m{{instance}}.nc 10 await go", ranks: 1, instances: 3, at-most: 2}}
  picture: {{command: [sh, -c, 'until test -e go; do sleep 0.1; done', "{{file}}"], for-each: "x.nc"}}
  source: {{command: "{program} write x.nc 10 await go", ranks: 1}}
  mean: {{command: "{program} read m0.nc 10 read m1.nc 10 read m2.nc 10", ranks: 1}}
files:
  - {{path: "m{{instance}}.nc", writer: model, readers: [mean]}}
  - {{path: "x.nc", writer: source, readers: [picture]}}
""")
    terminal = Terminal()
    terminal.await_screen(r"^  model +0 of 3 members .*2 running$")
    terminal.await_screen(r"^  picture +0 jobs? .*1 running$")
    terminal.await_screen(r"^  mean +2 steps .*waits \d+ s for 'm2.nc' from model.2")
    allow("go")
    terminal.finish()


def expected():
    """With `expect`, the number of all steps is shown from the beginning. Fewer files are a warning, also in the summary file."""
    write_flow(program, {"model": (1, "repeat 2 write a%d.nc 10"), "analysis": (1, "read a0.nc 10 await go read a1.nc 10 write b.nc 10"), "picture": (1, "read b.nc 10")},
               [("a*.nc", "model", ["analysis"], "expect: 3"), ("b.nc", "analysis", ["picture"], "expect: 1")])
    run = start("sh", "-c", f"exec {SLUICE} run --log-dir log --progress json flow.yaml 2> errors.txt")

    def look():
        with open("errors.txt") as file:
            lines = [line for line in file.read().split("\n")[:-1] if line.startswith("{")]
        reports = [json.loads(line) for line in lines]
        rows = {row["name"]: row for row in reports[-1]["components"]} if reports and reports[-1]["state"] == "running" else {}
        return rows if rows and rows["picture"]["state"] == "waiting" else None

    wait_for(lambda: os.path.exists("errors.txt"), "the run")
    rows = wait_for(look, "the reader of b.nc waiting")
    expect(rows["picture"]["all"] == 1 and rows["picture"]["done"] == 0, f"the reader of b.nc: {rows['picture']}")
    allow("go")
    finish(run, 0)
    warning = "expects 3 files, and model published 2: see why model ended early, or correct 'expect'"
    for name in "errors.txt", "log/summary.txt":
        with open(name) as file:
            text = file.read()
        expect(warning in text and "expects 1 file" not in text, f"the warning in {name}")


clear_directory()
os.environ.update(MPI_ENVIRONMENT)
{**globals(), "json": json_case}[case]()
