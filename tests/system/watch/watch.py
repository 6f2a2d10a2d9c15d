#!/usr/bin/python3
"""watch.py BUILD PROGRAM CASE: what `sluice status`, `graph` and `report` tell of a run of PROGRAM (couple.c)."""
import ctypes
import fcntl
import html.parser
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import xml.etree.ElementTree

sys.path.append(os.path.dirname(sys.path[0]))
from harness import MPI_ENVIRONMENT, allow, call, clear_directory, descendants_named, expect, finish, have_in_environment, kill, start, wait_for, write_flow

build, program, case = sys.argv[1:4]
SLUICE = build + "/bin/sluice"


def begin_run(model, analysis, *rules, ranks=(1, 1)):
    """A run whose reader can only end when the test lets the model go on."""
    write_flow(program, {"model": (ranks[0], model), "analysis": (ranks[1], analysis)}, [("*.nc", "model", ["analysis"], *rules)])
    return start(SLUICE, "run", "--log-dir", "log", "flow.yaml")


def status_of(run, *options, status=0):
    return call(SLUICE, "status", str(run.pid), *options, status=status)


def json_of(run):
    """The status as JSON; nothing while the run is not ready."""
    if run.poll() is not None:
        finish(run, 0)
    result = subprocess.run([SLUICE, "status", str(run.pid), "--json"], capture_output=True, text=True)
    return json.loads(result.stdout) if result.returncode == 0 else None


def await_wait(run, component, words):
    """Waits until the status tells that the component waits for something with these words; the status."""

    def look():
        view = json_of(run)
        waits = [wait for wait in view["waits"] if wait["component"] == component and words in wait["waits_for"]] if view else []
        return (view, waits[0]) if waits else None

    return wait_for(look, f"{component} waiting for {words} in the status")


def status():
    """Who waits for whom, files, memory: as text and as JSON."""
    run = begin_run("write a.nc 5000 await go write b.nc 10", "read a.nc 5000 read b.nc 10")
    view, wait = await_wait(run, "analysis", "'b.nc' from model")
    expect(wait["processes"] == 1 and "analysis waits for 'b.nc' from model" in wait["text"], f"the wait: {wait}")
    expect([(each["name"], each["waiting"]) for each in view["components"]] == [("analysis", 1), ("model", 0)], "the components")
    rule = view["rules"][0]
    expect((rule["pattern"], rule["files"], rule["steps"]) == ("*.nc", 1, 1), f"the rule: {rule}")
    use = {each["component"]: each for each in rule["use"]}
    expect(use["model"]["put_bytes"] == 40000 and use["analysis"]["get_bytes"] == 40000, f"bytes: {use}")
    expect(0 < view["nodes"][0]["used_bytes"] <= view["nodes"][0]["limit_bytes"], "memory")
    text = status_of(run).out
    expect(re.search(r"^analysis waits for 'b.nc' from model \(\d+ s\), rank 0$", text, re.M), "the sentence on the wait")
    expect(re.search(r"^analysis +1 of 1 +waits$", text, re.M) and re.search(r"^model +1 of 1 +(sleeps|computes)$", text, re.M), "the table of components")
    expect(max(map(len, text.splitlines()[1:])) <= 80, "a line of more than 80 columns")
    allow("go")
    finish(run, 0)
    call(SLUICE, "status", str(run.pid), status=2)


def screenful():
    """However many files and rules there are, the status fits 24 lines, and --files shows all."""
    run = begin_run("repeat 60 write a%d.nc 10", "await go repeat 60 read a%d.nc 10")
    wait_for(lambda: (view := json_of(run)) and view["rules"][0]["files"] == 60, "60 files")
    short = status_of(run).out.splitlines()
    expect(len(short) <= 24, f"{len(short)} lines")
    expect(short[1].startswith("component") and any(line.startswith("memory:") for line in short), "components and memory are shown")
    expect(re.search(r"^and \d+ files more: --files shows all$", "\n".join(short), re.M), "the others are counted")
    long = status_of(run, "--files").out
    expect(all(f"a{i}.nc" in long for i in range(60)), "--files shows all")
    allow("go")
    finish(run, 0)


def several_ranks():
    """Ranks are told apart: two of four wait, and files show who reads and who has yet to."""
    run = begin_run("write a.nc 100 await go write b.nc 100", "whole a.nc 100 late more whole b.nc 100", ranks=(2, 2))
    view, _ = wait_for(lambda: gathered(run), "one rank in the open of b.nc")
    expect(view["components"][1]["connected"] == 2, "the model's processes")
    allow("more")
    view, wait = await_wait(run, "analysis", "'b.nc' from model")
    wait_for(lambda: await_wait(run, "analysis", "'b.nc'")[1]["processes"] == 2, "both ranks waiting")
    expect(sorted(await_wait(run, "analysis", "'b.nc'")[1]["ranks"]) == [0, 1], "the ranks that wait")
    expect("ranks 0 1" in status_of(run).out or "ranks 1 0" in status_of(run).out, "the ranks in the text")
    allow("go")
    finish(run, 0)


def gathered(run):
    view = json_of(run)
    texts = [text for text in view["gatherings"] if "1 of 2 processes of analysis is in open of b.nc" in text] if view else []
    return (view, texts[0]) if texts else None


def state_of(run, component):
    """The state of a component in the table of `sluice status`."""
    found = re.search(rf"^{component} +\d+ of \d+ +(.+?) *$", status_of(run, status=None).out, re.M)
    return found[1] if found else ""


def in_mpi():
    """A rank that is in a collective call, while the other one is not, is told from one that computes."""
    os.mkdir("go")
    run = begin_run("lag a.nc 100", "late more whole a.nc 100", ranks=(2, 2))
    wait_for(lambda: json_of(run), "the run")
    wait_for(lambda: state_of(run, "model") == "1 is in MPI, 1 sleeps", "a rank in sync")
    text = status_of(run).out
    expect(re.search(r"^1 of 2 processes of model is in a collective call on a.nc; rank 1 is not, since \d+ s$", text, re.M), "the sentence on the sync")
    wait_for(lambda: state_of(run, "analysis") == "is in MPI", "a rank in open, and one that has no connection yet")
    allow("go/a.nc")
    wait_for(lambda: "in a collective call" not in status_of(run).out, "the end of the sync")
    allow("more")
    finish(run, 0)


def own_mpi():
    """A rank that waits in a call of MPI of the program itself is told from one that computes; nothing of Sluice knows of it."""
    run = begin_run("write a.nc 100 barrier go", "read a.nc 100", ranks=(2, 1))
    wait_for(lambda: json_of(run), "the run")
    if not may_sample(run):
        allow("go")
        finish(run, 0)
        print("SKIPPED: this system does not let a user sample own processes")
        sys.exit(77)
    wait_for(lambda: state_of(run, "model") == "1 computes, 1 is in MPI", "a rank in MPI_Barrier")
    wait_for(lambda: "\nrank 1 of model is in a call of MPI\n" in status_of(run).out, "the sentence")
    wait_for(lambda: [each["ranks_in_mpi"] for each in json_of(run)["components"] if each["name"] == "model"] == [[1]], "the rank")
    allow("go")
    finish(run, 0)


def at_rest():
    """A process that sleeps, and one that was stopped, are told from one that computes."""
    run = begin_run("write a.nc 100 await go", "read a.nc 100 barrier go", ranks=(1, 1))
    wait_for(lambda: json_of(run), "the run")
    wait_for(lambda: state_of(run, "model") == "sleeps", "a process that sleeps")
    wait_for(lambda: state_of(run, "analysis") == "computes", "a process that computes")
    model = next(pid for pid in descendants_named("couple", run.pid) if pid in have_in_environment("SLUICE_COMPONENT", "model"))
    os.kill(model, signal.SIGSTOP)
    wait_for(lambda: state_of(run, "model") == "is stopped", "a process that was stopped")
    components = {each["name"]: each for each in json_of(run)["components"]}
    expect(components["model"]["ranks_stopped"] == [0] and components["analysis"]["ranks_stopped"] == [], f"the ranks: {components}")
    os.kill(model, signal.SIGCONT)
    allow("go")
    finish(run, 0)


def on_disk():
    """A process that waits in the kernel, as for a disk, is told from one that sleeps."""
    run = begin_run("write a.nc 100 block go", "read a.nc 100 await go", ranks=(1, 1))
    wait_for(lambda: json_of(run), "the run")
    wait_for(lambda: state_of(run, "model") == "waits for a disk", "a process that waits for a disk")
    wait_for(lambda: state_of(run, "analysis") == "sleeps", "a process that sleeps")
    components = {each["name"]: each for each in json_of(run)["components"]}
    expect(components["model"]["ranks_on_disk"] == [0] and components["analysis"]["ranks_on_disk"] == [], f"the ranks: {components}")
    allow("go")
    finish(run, 0)


def may_sample(run):
    """Whether perf_event_open is permitted for a process of the run."""
    class Attributes(ctypes.Structure):
        _fields_ = [("type", ctypes.c_uint32), ("size", ctypes.c_uint32), ("config", ctypes.c_uint64), ("period", ctypes.c_uint64), ("sample", ctypes.c_uint64),
                    ("read", ctypes.c_uint64), ("flags", ctypes.c_uint64), ("rest", ctypes.c_uint64 * 8)]
    exclude_kernel = 1 << 5
    attributes = Attributes(type=1, size=ctypes.sizeof(Attributes), config=1, period=100000, sample=1, flags=exclude_kernel)
    descriptor = ctypes.CDLL(None).syscall(298 if os.uname().machine == "x86_64" else 241, ctypes.byref(attributes), run.pid, -1, -1, 0)
    return descriptor >= 0 and os.close(descriptor) is None


def copying():
    """A process that is stopped within a large put or get is told from one that computes."""
    run = begin_run("repeat 1000 write a%d.nc 5000000", "repeat 1000 read a%d.nc 5000000")
    wait_for(lambda: json_of(run), "the run")
    for component, words, is_put in ("model", "copies into a", True), ("analysis", "copies out of a", False):
        stopped = wait_for(lambda: stop_in_copy(run, component), f"{component} within a copy")
        copies = [copy for copy in json_of(run)["copies"] if copy["component"] == component]
        expect(len(copies) == 1 and copies[0]["is_put"] == is_put and copies[0]["ranks"] == [0], f"the copy: {copies}")
        expect(state_of(run, component) == "copies", "the state of " + component)
        expect(re.search(rf"^{component} {words}\d+.nc \(\d+ s\), rank 0$", status_of(run).out, re.M), "the sentence on the copy")
        os.kill(stopped, signal.SIGCONT)
    run.send_signal(signal.SIGINT)
    finish(run, 130)


def stop_in_copy(run, component):
    """Stops the process of the component. Lets it go on, and returns None, unless it is within a large copy."""
    own = [pid for pid in descendants_named("couple", run.pid) if pid in have_in_environment("SLUICE_COMPONENT", component)]
    if not own:
        return None
    os.kill(own[0], signal.SIGSTOP)
    view = json_of(run)
    if view and any(copy["component"] == component for copy in view["copies"]):
        return own[0]
    os.kill(own[0], signal.SIGCONT)
    return None


def signal_case():
    """SIGUSR1 makes `sluice run` itself print the status, and the run goes on."""
    write_flow(program, {"model": (1, "await go write a.nc 10"), "analysis": (1, "read a.nc 10")}, [("*.nc", "model", ["analysis"])])
    run = start("sh", "-c", f"exec {SLUICE} run --log-dir log --notice-after 1000 flow.yaml 2> errors.txt")
    await_wait(run, "analysis", "'a.nc' from model")
    os.kill(run.pid, signal.SIGUSR1)

    def is_printed():
        with open("errors.txt") as errors:
            text = errors.read()
        return "[sluice] analysis waits for 'a.nc' from model" in text and "[sluice] memory:" in text

    wait_for(is_printed, "the status on stderr")
    allow("go")
    finish(run, 0)


def watch_terminal():
    """A live table on a terminal of 80 columns; the end of the run ends it."""
    run = begin_run("write long_name_" + "x" * 120 + ".nc 10 await go write b.nc 10", "read b.nc 10")
    await_wait(run, "analysis", "'b.nc' from model")
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    watcher = subprocess.Popen([SLUICE, "status", str(run.pid), "--watch"], stdin=subprocess.DEVNULL, stdout=inner, stderr=subprocess.PIPE, text=True)
    os.close(inner)
    shown = b""

    def screens():
        nonlocal shown
        if select.select([terminal], [], [], 0)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:
                pass
        return shown.decode(errors="replace").split("\x1b[H\x1b[J")[1:]

    wait_for(lambda: len(screens()) >= 3, "three screens")
    complete = screens()[1]
    expect("analysis waits for 'b.nc' from model" in complete, "the wait on the screen")
    lines = complete.replace("\r", "").split("\n")
    expect(len(lines) <= 24 and max(map(len, lines)) <= 80, "a screen of 80 columns and 24 lines")
    allow("go")
    finish(run, 0)
    wait_for(lambda: screens() is not None and watcher.poll() is not None, "the end of the watcher")
    expect(watcher.returncode == 0 and "has ended" in watcher.stderr.read(), "the end of --watch")


def watch_json():
    """One object a line; rates are those since the line before."""
    run = begin_run("write a.nc 1000 await go write b.nc 10", "read a.nc 1000 read b.nc 10")
    await_wait(run, "analysis", "'b.nc' from model")
    watcher = start(SLUICE, "status", str(run.pid), "--watch", "--json")
    first, second = (json.loads(watcher.stdout.readline()) for _ in range(2))
    expect(first["put_bytes"] == second["put_bytes"] == 8000 and first["time_ms"] < second["time_ms"], "two lines")
    expect(first["put_rate"] > 0 and second["put_rate"] == 0, "rates")
    allow("go")
    finish(run, 0)
    expect("has ended" in finish(watcher, 0).err, "the end of --watch --json")


def graph():
    write_flow(program, {"model": (2, "write a.nc 1000"), "analysis": (1, "read a.nc 1000")},
               [("*.nc", "model", ["analysis"], "keep: true"), ("back_[ab]*<>&.txt", "analysis", ["model"])])
    text = call(SLUICE, "graph", "flow.yaml", status=0).out
    expect("model (2 ranks)" in text and "  writes *.nc (memory, keep)" in text and "    for analysis" in text, "the text")
    mermaid = call(SLUICE, "graph", "--mermaid", "flow.yaml", status=0).out
    expect(mermaid.startswith("flowchart LR\n") and "f0 --> c1" in mermaid and "<" not in mermaid, "Mermaid")
    dot = call(SLUICE, "graph", "flow.yaml", "--dot", status=0).out
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=dot, text=True, check=True, capture_output=True)
    expect("c0 -> f0" in dot and "f0 -> c1" in dot and dot.endswith("}\n"), "Graphviz")
    drawing = xml.etree.ElementTree.fromstring(call(SLUICE, "graph", "flow.yaml", "--svg", status=0).out)
    space = "{http://www.w3.org/2000/svg}"
    titles = [each.text for each in drawing.iter(space + "text") if each.get("class") == "title"]
    expect(titles == ["model", "analysis", "*.nc", "back_[ab]*<>&.txt"], f"the drawing: {titles}")
    expect(len([each for each in drawing.iter(space + "path") if each.get("class") == "edge"]) == 4, "the arrows")
    boxes = {(each.get("x"), each.get("y")) for each in drawing.iter(space + "rect")}
    expect(len(boxes) == 4, "boxes lie on one another")
    call(SLUICE, "run", "--log-dir", "log", "flow.yaml", status=0)
    after = call(SLUICE, "graph", "log", status=0).out
    expect("writes *.nc (memory, keep): 1 file, 7.81 KiB in 2 puts" in after and "for analysis: 7.81 KiB in" in after, "the figures of the run")


def run_for_report():
    """A run of 30 files. The writer begins when the reader has waited for it."""
    run = begin_run("await go repeat 30 write a%d.nc 1000", "repeat 30 read a%d.nc 1000", ranks=(2, 1))
    wait_for(lambda: await_wait(run, "analysis", "a0.nc")[1]["since_ms"] >= 1500, "a long wait of the reader")
    open("go", "w").close()
    return finish(run, 0)


def has_long_wait(figures):
    """Whether the wait of the reader is a large part of its time: on a busy machine the rest may take long, too."""
    reader = next(each for each in figures["components"] if each["name"] == "analysis")
    return reader["open_wait_ms"] * 100 >= reader["run_ms"] * 25


def report():
    """The figures of a run, and the trace."""
    run_for_report()
    figures = json.loads(call(SLUICE, "report", "log", "--json", status=0).out)
    rule = figures["rules"][0]
    expect((rule["files"], rule["steps"], rule["put_bytes"], rule["get_bytes"]) == (30, 30, 240000, 240000), f"the rule: {rule}")
    expect(rule["puts"] == 60 and 0 < rule["replayed_gets"] < rule["gets"], f"calls: {rule}")
    expect(len(figures["files"]) == 30 and all(each["put_bytes"] == each["get_bytes"] == 8000 for each in figures["files"]), "the files")
    components = {each["name"]: each for each in figures["components"]}
    expect(components["analysis"]["open_wait_ms"] >= 1000 and components["analysis"]["end"] == "exited with status 0", f"the reader: {components}")
    is_advised = any("analysis waited" in text and "the writer model is the bottleneck" in text for text in figures["advice"])
    expect(is_advised or not has_long_wait(figures), f"advice: {figures['advice']}")
    expect(figures["end"] == "finished" and figures["lost_activities"] == 0 and 0 < figures["peak_bytes"] <= figures["limit_bytes"], "the run")
    events = json.loads(call(SLUICE, "report", "log", "--trace", status=0).out)["traceEvents"]
    writes = [event for event in events if event.get("cat") == "write"]
    expect(sorted(event["tid"] for event in writes) == [0] * 30 + [1] * 30, "each rank's writes")
    expect(sum(event["args"]["bytes"] for event in writes) == 240000, "the bytes of the trace")
    names = {(event["name"], event["args"]["name"]) for event in events if event["ph"] == "M"}
    expect({("process_name", "model"), ("thread_name", "rank 1"), ("process_name", "analysis")} <= names, f"the names of the trace: {names}")
    begun, ended = ({event["id"]: event for event in events if event["ph"] == phase} for phase in "sf")
    expect(len(begun) == 30 and begun.keys() == ended.keys() and all(begun[each]["ts"] <= ended[each]["ts"] for each in begun), "the arrows from writer to reader")
    expect(any(event["ph"] == "C" and event["name"] == "unread of *.nc by analysis" for event in events), "the counter of unread steps")
    [following] = figures["followings"]
    expect((following["reader"], following["steps"], following["opened"]) == ("analysis", 30, 30) and 0 < following["most_unread"] <= 30, f"the reader follows: {following}")
    expect(figures["workflow"] == os.path.abspath("flow.yaml") and figures["cores"] == os.cpu_count() and components["analysis"]["command"].endswith("a%d.nc 1000"), "where it ran, and of what")


def processor():
    """The report has the processor time of a serial component, and of all ranks of another one."""
    with open("burn.py", "w") as file:
        file.write("import time\nwhile time.process_time() < 0.5:\n    pass\n")
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: burn\ncomponents:\n  one: {command: /usr/bin/python3 burn.py}\n  two: {command: /usr/bin/python3 burn.py, ranks: 2}\nfiles: []\n")
    call(SLUICE, "run", "--log-dir", "log", "flow.yaml", status=0)
    used = {each["name"]: each["processor_ms"] for each in json.loads(call(SLUICE, "report", "log", "--json", status=0).out)["components"]}
    expect(used["one"] >= 500 and used["two"] >= 1000, f"the processor time: {used}")


def calls():
    """The trace has a period for the puts and one for the gets of each step and rank, within that in which the file was open."""
    write_flow(program, {"model": (2, "write a.nc 8000000"), "analysis": (1, "read a.nc 8000000")}, [("a*.nc", "model", ["analysis"])])
    call(SLUICE, "run", "--log-dir", "log", "flow.yaml", status=0)
    events = [event for event in json.loads(call(SLUICE, "report", "log", "--trace", status=0).out)["traceEvents"] if event["ph"] == "X"]
    for rank, bytes_put in (0, 32000000), (1, 32000000):
        expect_within(events, "put", "write", rank, bytes_put)
    expect_within(events, "get", "read", 0, 64000000)


def expect_within(events, kind, outer, rank, size):
    [inner], [around] = ([event for event in events if (event["cat"], event["tid"]) == (each, rank)] for each in (kind, outer))
    expect(inner["name"] == kind + " a.nc" and inner["args"]["bytes"] == size, f"the {kind}: {inner}")
    expect(0 < inner["args"]["busy_us"] <= inner["dur"] + 2000, f"the time within calls: {inner}")
    expect(around["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= around["ts"] + around["dur"], f"{inner} is not within {around}")


class Page(html.parser.HTMLParser):
    """Checks that tags are closed in order, and keeps what the page refers to."""

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.text = [], [], text
        self.feed(text)
        expect(not self.open, f"tags are left open: {self.open}")

    def handle_starttag(self, tag, attributes):
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "link", "br", "line", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.links += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        expect(self.open and self.open.pop() == tag, f"</{tag}> closes another tag")


def report_page():
    """The page needs nothing from elsewhere. A browser draws it, light and dark, without an error of the script."""
    run_for_report()
    path = call(SLUICE, "report", "log", status=0).out.strip()
    expect(path == "log/report.html", "the page's name: " + path)
    page = Page(open(path).read())
    expect(not page.links, f"the page refers to {page.links}")
    explained = call(SLUICE, "status", "--explain", status=0).out
    for word in re.findall(r"<th[^>]*>([^<]*)</th>", page.text):
        if word not in ("component", "ranks", "time", "end", "command", "files", "file", "reader"):
            expect(f"\n{word} " in "\n" + explained, f"'{word}' is not explained")
    expect(all(len(line) <= 110 for line in explained.splitlines()) and 'title="bytes that programs wrote' in page.text, "the words' lines, and the heads' hints")
    expect("a29.nc" in page.text and "model, rank 1" in page.text, "the contents")
    figures = json.loads(call(SLUICE, "report", "log", "--json", status=0).out)
    for text in figures["advice"]:
        expect(text in html.unescape(page.text), f"the page lacks the advice: {text}")
    expect("the writer model is the bottleneck" in page.text or not has_long_wait(figures), "the advice")
    expect_drawn(browse(path, "--dump-dom"))
    for name, more in COLOURS.items():
        browse(path, "--screenshot=" + os.path.abspath(name + ".png"), *more)
        expect(os.path.getsize(name + ".png") > 10000, f"the {name} picture")


COLOURS = {"light": [], "dark": ["--blink-settings=preferredColorScheme=0"]}


def browse(path, *options):
    browser = shutil.which("chromium")
    if not browser:
        print("SKIPPED: there is no chromium (Debian's package chromium)")
        sys.exit(77)
    return call(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=" + os.path.abspath("browser"), "--virtual-time-budget=3000",
                "--window-size=1100,1400", "--enable-logging=stderr", "file://" + os.path.abspath(path), *options, status=0)


def expect_drawn(result):
    expect("CONSOLE" not in result.err, "the script complains: " + result.err)
    expect(re.search(r'<canvas[^>]* data-drawn="0 \d+"', result.out), "the timeline was not drawn")


# A browser that only dumps a page has no frames.
FRAMES = "<head><script>window.requestAnimationFrame = draw => setTimeout(draw, 0);</script>"
# Presses keys one after the other, and notes which part of the timeline is drawn then.
PRESS = """<script>
const canvas = document.getElementById("timeline"), keys = ["+", "ArrowRight", "ArrowLeft", "-", "x", "+", "0"], seen = [];
canvas.focus();
const next = () => {
  if (seen.length === keys.length) {
    document.body.dataset.seen = seen.join("|");
    document.body.dataset.focus = document.activeElement === canvas;
    document.body.dataset.paper = getComputedStyle(document.body).backgroundColor;
    return;
  }
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: keys[seen.length], bubbles: true, cancelable: true }));
  setTimeout(() => { seen.push(canvas.dataset.drawn); next(); }, 50);
};
next();
</script></body>"""


def copy_with(path, name, script):
    """The page with a script at its end."""
    with open(path) as page, open(name, "w") as copy:
        copy.write(page.read().replace("<head>", FRAMES).replace("</body>", script))


def report_keys():
    """The timeline is moved by keys alone, and the page follows the colours of the system."""
    run_for_report()
    path = call(SLUICE, "report", "log", status=0).out.strip()
    copy_with(path, "keys.html", PRESS)
    papers = {}
    for name, more in COLOURS.items():
        drawn = browse("keys.html", "--dump-dom", *more)
        expect("CONSOLE" not in drawn.err and 'data-focus="true"' in drawn.out, "the canvas cannot have the focus: " + drawn.err)
        papers[name] = re.search(r'data-paper="([^"]*)"', drawn.out)[1]
    expect(papers == {"light": "rgb(253, 253, 251)", "dark": "rgb(21, 24, 30)"}, f"the colours: {papers}")
    parts = [tuple(map(float, part.split())) for part in re.search(r'data-seen="([^"]*)"', drawn.out)[1].split("|")]
    end = parts[-1][1]
    expected = [(1 / 4, 3 / 4), (3 / 8, 7 / 8), (1 / 4, 3 / 4), (0, 1), (0, 1), (1 / 4, 3 / 4), (0, 1)]
    expect(all(abs(found - part * end) < 1 for each, wanted in zip(parts, expected) for found, part in zip(each, wanted)), f"the parts of the timeline: {parts}")


# Sorts the table of files, shows all of it, and looks for some rows.
HANDLE = """<script>
const last = [...document.querySelectorAll("table")].at(-1), shown = () => [...last.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[0].textContent);
const tools = last.parentElement.previousElementSibling, seen = [shown().length];
last.tHead.rows[0].cells[0].querySelector("button").click();
seen.push(shown()[2]);
last.tHead.rows[0].cells[0].querySelector("button").click();
seen.push(shown()[0]);
tools.querySelector("button").click();
seen.push(shown().length);
const words = tools.querySelector("input");
words.value = "a1"; words.dispatchEvent(new Event("input"));
seen.push(shown().length);
document.body.dataset.seen = seen.join(" ");
</script></body>"""


def report_tables():
    """Tables are folded, and can be sorted and searched."""
    run_for_report()
    path = call(SLUICE, "report", "log", status=0).out.strip()
    copy_with(path, "tables.html", HANDLE)
    drawn = browse("tables.html", "--dump-dom")
    expect("CONSOLE" not in drawn.err, "the script complains: " + drawn.err)
    seen = re.search(r'data-seen="([^"]*)"', drawn.out)[1]
    expect(seen == "15 a2.nc a29.nc 30 11", f"what the table of files shows: {seen}")  # a1, a10 to a19


def report_two():
    """Two runs side by side."""
    for number, log in (10, "log"), (20, "other"):
        write_flow(program, {"model": (1, f"repeat {number} write a%d.nc 1000"), "analysis": (1, f"repeat {number} read a%d.nc 1000")}, [("a*.nc", "model", ["analysis"])])
        call(SLUICE, "run", "--log-dir", log, "flow.yaml", status=0)
    path = call(SLUICE, "report", "log", "other", status=0).out.strip()
    expect(path == "other/comparison.html", "the page's name: " + path)
    page = Page(open(path).read())
    expect(not page.links and "2.00 ×" in page.text and "78.1 KiB" in page.text and "156 KiB" in page.text, "what both have put")
    expect("CONSOLE" not in browse(path, "--dump-dom").err, "the script complains")
    both = json.loads(call(SLUICE, "report", "log", "other", "--json", status=0).out)["runs"]
    expect([run["rules"][0]["steps"] for run in both] == [10, 20], f"the figures of both: {both}")


def large_page():
    """A browser draws the page of a run with 100,000 periods of 320 ranks."""
    periods, ranks, components = 100000, 64, 5
    os.mkdir("log")
    with open("log/timeline.tsv", "w") as log:
        log.write("sluice-timeline\t1\nrun\tlarge\t1795000000\n")
        log.writelines(f"component\tc{i}\t{ranks}\n" for i in range(components))
        log.write("rule\t0\tw*.nc\tc0\tmemory\n")
        log.writelines(f"reader\t0\tc{i}\n" for i in range(1, components))
        log.writelines(f"start\t0\tc{i}\n" for i in range(components))
        for i in range(periods):
            component, rank, begin = i % components, i // components % ranks, i // (components * ranks) * 100
            log.write(f"do\t{'read' if component else 'write'}\tc{component}\t{rank}\t{begin}\t{begin + 60}\t1000\t0\tw{begin}.nc\n")
        log.writelines(f"exit\t40000\tc{i}\tended\n" for i in range(components))
        log.write("end\t40000\tall components have ended\n")
    path = call(SLUICE, "report", "log", status=0).out.strip()
    figures = json.loads(call(SLUICE, "report", "log", "--json", status=0).out)
    expect(figures, "the figures")
    drawn = browse(path, "--dump-dom")
    expect_drawn(drawn)
    expect(drawn.out.count("c4, rank") >= 1, "the last component")


def killed():
    """A run that was killed leaves a timeline that can be read."""
    run = begin_run("write a.nc 1000 await never", "read a.nc 1000 await never")
    wait_for(lambda: (json_of(run) or {"rules": [{"files": 0}]})["rules"][0]["files"] == 1, "the file")
    wait_for(lambda: "read\tanalysis" in open("log/timeline.tsv").read(), "the read in the timeline")
    kill([run.pid], signal.SIGKILL)
    finish(run)
    with open("log/timeline.tsv", "a") as timeline:
        timeline.write("do\tread\tanaly")  # as if in the middle of a line
    figures = json.loads(call(SLUICE, "report", "log", "--json", status=0).out)
    expect(figures["end"] == "" and any("was killed" in text for text in figures["advice"]), "the end")
    expect(figures["rules"][0]["get_bytes"] == 8000, "the figures until then")
    call(SLUICE, "report", "log", status=0)


def report_choice():
    """A run is named by its workflow's file or name, by its number, or not at all: the last one is meant."""
    write_flow(program, {"model": (1, "write a.nc 10"), "analysis": (1, "read a.nc 10")}, [("a.nc", "model", ["analysis"])])
    logs = []
    for name in ("first", "second"):
        with open("flow.yaml") as flow, open(f"{name}.yaml", "w") as copy:
            copy.write(flow.read().replace("name: test", f"name: {name}"))
        for _ in range(2):
            run = start(SLUICE, "run", name + ".yaml")
            finish(run, 0)
            logs += [each for each in os.listdir(".sluice") if each.endswith(f"-{run.pid}")]
    for words, log in (["second.yaml"], logs[3]), (["first.yaml"], logs[1]), (["first"], logs[1]), ([logs[0].split("-")[-1]], logs[0]), ([], logs[3]), ([".sluice/" + logs[2]], logs[2]):
        expect(call(SLUICE, "report", *words, status=0).out.strip().endswith(f".sluice/{log}/report.html"), f"report {words} is not that of {log}")
    expect("is not the log directory of a run" in call(SLUICE, "report", "firs", status=2).err, "a name that no run has")


def mistakes():
    os.makedirs("empty")
    open("not_one.tsv", "w").close()
    os.makedirs("other")
    with open("other/timeline.tsv", "w") as file:
        file.write("something else\n")
    for arguments, words in [(["status", "--wach"], "no option '--wach'"), (["status", "a", "b"], "at most one run"), (["graph"], "is expected"),
                             (["graph", "empty"], "not the log directory"), (["graph", "--pdf", "empty"], "no option '--pdf'"), (["report"], "no run of a workflow of this directory"), (["report", "a", "b", "c"], "at most two runs"), (["report", "a", "b", "--trace"], "a trace is of one run"),
                             (["report", "empty"], "not the log directory"), (["report", "other"], "no timeline of this version"), (["report", "nowhere"], "nowhere"),
                             (["report", "empty", "-o"], "-o needs"), (["graph", "nowhere.yaml"], "nowhere.yaml")]:
        result = call(SLUICE, *arguments, status=2)
        expect(words in result.err and not result.out, f"{arguments}: {result.err}")
    for command in ("status", "graph", "report"):
        text = call(SLUICE, command, "--help", status=0).out
        expect("Example" in text and max(map(len, text.splitlines())) <= 100 and len(text.splitlines()) <= 24, f"{command} --help")


clear_directory()
os.environ.update(MPI_ENVIRONMENT)
{**globals(), "signal": signal_case}[case]()
