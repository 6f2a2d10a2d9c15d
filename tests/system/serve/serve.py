#!/usr/bin/python3
"""serve.py BUILD CASE: `sluice serve` shows a run in which ncgen writes files, one after the other when the test lets it."""
import array
import atexit
import http.client
import json
import math
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.append(os.path.dirname(sys.path[0]))
from harness import allow, call, clear_directory, descendants_named, expect, finish, mapping, script, start, test_seed, wait_for
from web import Browser, WebSocket

build, case = sys.argv[1:3]
SLUICE = build + "/bin/sluice"
MISSING = -9.0
ROWS, COLUMNS = 3, 4


def height(step, row, column):
    """As it is stored; some are missing."""
    return MISSING if (row, column) == (1, 2) else step * 100 + row * 10 + column


def write_cdl(step, kind="classic"):
    """h has a scale, an offset and a missing value; `deep` is in three dimensions beside the time."""
    own = "group: inner { variables: int n(x); data: n = 1, 2, 3, 4; }" if kind == "netCDF-4" else ""
    string = "string h:units" if kind == "netCDF-4" else "h:units"
    deep = ", ".join(str(i) for i in range(2 * ROWS * COLUMNS))
    with open(f"wave_{step}.cdl", "w") as file:
        file.write("netcdf w { dimensions: time = UNLIMITED; z = 2; y = %d; x = %d; variables: double time(time); time:units = \"hours since 2011-03-11 05:00:00\"; "
                   "float y(y); y:units = \"degrees_north\"; float x(x); x:units = \"degrees_east\"; short h(time, y, x); %s = \"m\"; h:long_name = \"height <b>\"; h:scale_factor = 0.5; "
                   "h:add_offset = 1.; h:_FillValue = %ds; int deep(z, y, x); float gaps(x); gaps:missing_value = -999.9; gaps:valid_max = 50.f; byte all(x); char text(x); double one; data: time = %d; y = 10, 20, 30; x = 100, 110, 120, 130; h = %s; deep = %s; gaps = 1.5, -999.9, _, 51; all = -127, 0, 1, 127; text = \"abcd\"; one = 0.25; %s }"
                   % (ROWS, COLUMNS, string, MISSING, step, ", ".join(str(int(height(step, row, column))) for row in range(ROWS) for column in range(COLUMNS)), deep, own))


def begin_run(steps=2, kind="classic", rule=""):
    """A model whose step N is written when the test allows it (step_N), and a reader; it ends with "done"."""
    for step in range(steps):
        write_cdl(step, kind)
    script("model.sh", f"for n in $(seq 0 {steps - 1}); do until test -e step_$n; do sleep 0.05; done; ncgen -b -k '{kind}' -o wave_$n.nc wave_$n.cdl; done; until test -e done; do sleep 0.05; done")
    script("reader.sh", f"for n in $(seq 0 {steps - 1}); do cat wave_$n.nc > /dev/null || exit 0; done; until test -e done; do sleep 0.05; done")
    matchers = "matchers: " + os.environ["SLUICE_TEST_MATCHERS"] if "SLUICE_TEST_MATCHERS" in os.environ else ""
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: waves\nstaging: " + mapping("prewarm: 0", matchers) + "\ncomponents:\n  model: {command: ./model.sh}\n  reader: {command: ./reader.sh, ranks: 1}\nfiles:\n  - {path: \"wave_*.nc\", writer: model, readers: [reader]" + rule + "}\n")
    return start(SLUICE, "run", "--log-dir", "log", "flow.yaml")


def let(run, step):
    """The step is written and published."""
    allow(f"step_{step}")

    def is_there():
        listing = subprocess.run([SLUICE, "ls", "--json", str(run.pid)], capture_output=True, text=True).stdout
        return f"wave_{step}.nc" in listing

    wait_for(is_there, f"step {step}")


class Served:
    """The command, and its address. `run`: a process that goes on, or the name of a run that has ended."""

    def __init__(self, run, *options):
        if isinstance(run, subprocess.Popen):
            wait_for(lambda: run.poll() is not None or subprocess.run([SLUICE, "status", str(run.pid)], capture_output=True).returncode == 0, "the run")
            run = str(run.pid)
        self.process = subprocess.Popen([SLUICE, "serve", run, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.lines = [self.process.stdout.readline() for _ in range(3)]
        expect("ssh -L" in self.lines[1], f"what it prints: {self.lines}, {'' if self.lines[0] else self.process.stderr.read()}")
        self.address = self.lines[0].split()[-1]
        self.parts = urllib.parse.urlsplit(self.address)
        self.token = self.parts.path.strip("/")

    def get(self, path, /, **query):
        return urllib.request.urlopen(self.address + path + ("?" + urllib.parse.urlencode(query) if query else ""), timeout=60).read()

    def refusal(self, path, /, **query):
        """The status, and what it says."""
        try:
            self.get(path, **query)
        except urllib.error.HTTPError as error:
            expect(error.headers["Content-Type"] == "text/plain; charset=utf-8", f"the type of a refusal: {error.headers}")
            return error.code, error.read().decode()
        sys.exit(f"FAILED: {path} {query} was answered")

    def field(self, variable, at, /, **source):
        """The head, and the values as a list."""
        body = self.get("field", variable=variable, at=at, **(source or {"rule": 0}))
        length = struct.unpack("<I", body[:4])[0]
        head = json.loads(body[4:4 + length])
        expect((4 + length) % 8 == 0, "where the values begin")
        values = array.array("f" if sum(each["is_shown"] for each in head["dimensions"]) == 2 else "d", body[4 + length:])
        return head, list(values)

    def raw(self, data, wait=True):
        """What comes back for these bytes."""
        with socket.create_connection((self.parts.hostname, self.parts.port)) as line:
            line.settimeout(60)
            try:
                line.sendall(data)
                answer = b""
                while wait and (piece := line.recv(65536)):
                    answer += piece
                return answer
            except (ConnectionResetError, BrokenPipeError):
                return answer if wait else b""

    def resident(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def end(self, signal_number=signal.SIGINT):
        self.process.send_signal(signal_number)
        expect(self.process.wait(timeout=60) == -signal_number, f"its end: {self.process.returncode}")


def end_run(run):
    for name in [f"step_{n}" for n in range(9)] + ["done"]:
        allow(name)
    finish(run, 0)


def expected_field(step):
    return [math.nan if height(step, row, column) == MISSING else height(step, row, column) * 0.5 + 1 for row in range(ROWS) for column in range(COLUMNS)]


def is_same(values, expected):
    return len(values) == len(expected) and all(a == b or (a != a and b != b) for a, b in zip(values, expected))


def expect_fields(served, step):
    head, values = served.field("h", "last,*,*")
    expect(is_same(values, expected_field(step)), f"the map: {values}")
    expect([each["name"] for each in head["dimensions"]] == ["time", "y", "x"] and head["file"].endswith(f"wave_{step}.nc"), f"the head: {head}")
    expect(is_same(served.field("h", "0,*,3", path=head["file"])[1], expected_field(step)[3::4]), "a line along the slow dimension")
    expect(served.field("h", "0,2,*")[1] == expected_field(step)[8:], "a line along the fast dimension")
    expect(served.field("deep", "1,*,*")[1] == [float(i) for i in range(12, 24)], "a slice of three dimensions")
    expect(served.field("deep", "*,1,*")[1] == [4.0, 5.0, 6.0, 7.0, 16.0, 17.0, 18.0, 19.0], "a section")
    expect(is_same(served.field("gaps", "*")[1], [1.5, math.nan, math.nan, math.nan]) and served.field("all", "*")[1] == [-127, 0, 1, 127], "values that are missing, and bytes")
    expect(served.field("one", "")[1] == [0.25] and served.field("time", "0")[1] == [step], "single values")
    description = json.loads(served.get("file", rule=0))
    found = {each["name"]: each for each in description["variables"]}
    expect(found["h"]["attributes"]["units"] == "m" and found["h"]["shape"] == [1, ROWS, COLUMNS] and "text" not in found, f"the description: {found}")
    return found


def fields():
    """Values are those of the file, scaled, with missing ones; of each classic format."""
    for kind, name in ("classic", "CDF-1"), ("64-bit offset", "CDF-2"), ("64-bit data", "CDF-5"):
        clear_directory()
        run = begin_run(2, kind)
        served = Served(run)
        expect(served.refusal("field", rule=0, variable="h", at="0,*,*")[0] == 404, "nothing is published")
        let(run, 0)
        expect_fields(served, 0)
        expect(json.loads(served.get("file", rule=0))["format"] == name, "the format")
        let(run, 1)
        wait_for(lambda: served.field("time", "last")[1] == [1.0], "the newest step")
        expect_fields(served, 1)
        for question, status, words in (dict(variable="none", at="*"), 400, "no variable 'none'"), (dict(variable="h", at="*,*"), 400, "3 dimensions"), (dict(variable="h", at="*,*,*"), 400, "at most two"), \
                (dict(variable="h", at="1,*,*"), 400, "not reach"), (dict(variable="h", at="-1,*,*"), 400, "no index"), (dict(variable="text", at="*"), 400, "text"):
            refused = served.refusal("field", rule=0, **question)
            expect(refused[0] == status and words in refused[1], f"{question}: {refused}")
        expect(served.refusal("field", path="/etc/passwd", variable="h", at="*")[0] == 404 and served.refusal("file", rule=7)[0] == 404, "other files")
        served.end()
        end_run(run)


def netcdf4():
    """The same of netCDF-4, with groups and strings, read by a process of its own."""
    run = begin_run(1, "netCDF-4")
    served = Served(run)
    let(run, 0)
    found = expect_fields(served, 0)
    expect("inner/n" in found and served.field("inner/n", "*")[1] == [1, 2, 3, 4], "a group")
    expect(json.loads(served.get("file", rule=0))["format"] == "netCDF-4", "the format")
    expect("none" in served.refusal("field", rule=0, variable="none", at="*")[1], "a variable that is not there")
    served.end()
    end_run(run)


def damaged():
    """Files with random damage are shown, or refused with a reason; the next one is read as ever."""
    generator, files = random.Random(test_seed()), 40
    for kind in "classic", "64-bit data", "netCDF-4":
        clear_directory()
        write_cdl(0, kind)
        call("ncgen", "-b", "-k", kind, "-o", "good.nc", "wave_0.cdl", status=0)
        with open("good.nc", "rb") as file:
            good = file.read()
        for number in range(files):
            bad = bytearray(good[:generator.randrange(1, len(good))] if number % 4 == 0 else good)
            for _ in range(generator.randrange(1, 6)):
                bad[generator.randrange(min(len(bad), generator.choice((100, 1000, len(bad)))))] = generator.choice((0, 1, 127, 128, 255, generator.randrange(256)))
            with open(f"bad_{number}", "wb") as file:
                file.write(bad)
        script("model.sh", f"for n in $(seq 0 {files - 1}); do cp bad_$n wave_$n.nc; done; cp good.nc wave_{files}.nc; until test -e done; do sleep 0.05; done")
        script("reader.sh", f"until test -e done; do sleep 0.05; done; for n in $(seq 0 {files}); do cat wave_$n.nc > /dev/null; done")
        with open("flow.yaml", "w") as flow:
            flow.write("version: 1\nname: damaged\nstaging: {prewarm: 0}\ncomponents:\n  model: {command: ./model.sh}\n  reader: {command: ./reader.sh, ranks: 1}\nfiles:\n  - {path: \"wave_*.nc\", writer: model, readers: [reader]}\n")
        run = start(SLUICE, "run", "--log-dir", "log", "flow.yaml")
        served = Served(run)
        def are_listed():  # a header that names very many records makes the file late
            listed = subprocess.run([SLUICE, "ls", "--json", str(run.pid)], capture_output=True, text=True).stdout
            return all(f"wave_{number}.nc" in listed for number in range(files + 1))
        wait_for(are_listed, "the files")
        for number in range(files):
            for part in "file", "field":
                try:
                    served.get(part, path=os.path.abspath(f"wave_{number}.nc"), variable=generator.choice(("h", "deep", "gaps")), at=generator.choice(("*", "0,*,*", "last,*,*", "1,1,*")))
                except urllib.error.HTTPError as error:
                    reason = error.read().decode()
                    expect(error.code in (400, 500) and len(reason) > 5, f"{number}: {error.code}, {reason}")
        expect(served.field("h", "0,*,*", path=os.path.abspath(f"wave_{files}.nc"))[1][:2] == expected_field(0)[:2], "the good file")
        served.end()
        end_run(run)


def large():
    """Of many values each n-th is sent; no more than a window of the file is in memory; and the map is as wide as it should be."""
    with open("model.py", "w") as file:
        file.write("import array, struct\nn, m = 3000, 1500\nhead = b'CDF\\x02' + struct.pack('>i', 0) + struct.pack('>ii', 10, 2) + struct.pack('>i4si', 1, b'y', n) + struct.pack('>i4si', 1, b'x', m) + struct.pack('>ii', 0, 0)\n"
                   "head += struct.pack('>ii', 11, 1) + struct.pack('>i4siii', 1, b'v', 2, 0, 1) + struct.pack('>ii', 0, 0) + struct.pack('>iIq', 4, n * m * 4, 0)\n"
                   "head = head[:-8] + struct.pack('>q', len(head))\nwith open('big.nc', 'wb') as out:\n    out.write(head)\n    for row in range(n):\n        values = array.array('i', range(row * m, row * m + m)); values.byteswap(); out.write(values.tobytes())\n")
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: big\nstaging: {prewarm: 0}\ncomponents:\n  model: {command: /usr/bin/python3 model.py}\n  reader: {command: \"sh -c 'until test -e done; do sleep 0.1; done; cat big.nc > /dev/null'\"}\nfiles:\n  - {path: big.nc, writer: model, readers: [reader]}\n")
    run = start(SLUICE, "run", "--log-dir", "log", "flow.yaml")
    served = Served(run)
    wait_for(lambda: "big.nc" in subprocess.run([SLUICE, "ls", "--json", str(run.pid)], capture_output=True, text=True).stdout, "the file")
    head, values = served.field("v", "*,*")
    steps = [(each["stride"], each["count"]) for each in head["dimensions"]]
    expect(steps == [(3, 1000), (2, 750)], f"the strides: {steps}")
    expect(values == [float(struct.unpack("f", struct.pack("f", row * 1500 + column))[0]) for row in range(0, 3000, 3) for column in range(0, 1500, 2)], "the values")
    expect(served.field("v", "*,7")[1] == [float(row * 1500 + 7) for row in range(0, 3000, 3)], "a line across the rows")
    expect(served.resident() < 100 << 20, f"{served.resident()} bytes are resident")
    browser = Browser(served.address)
    wait_for(lambda: browser.drawn()[:4] == ["big.nc", "v", "map", "1000x750"], "the map")
    wide, high = browser.value("(() => { const c = document.getElementById('canvas'), length = next => { let n = 0; for (let i = 0; i < 2000; i++) n += c.point(...next(i)) !== ''; return n; }; "
                               "return [length(i => [i, 50]), length(i => [80, i])]; })()")
    expect(0.45 < wide / high < 0.55, f"the map has {wide} x {high} pixels")
    browser.close()
    served.end()
    end_run(run)


# For each text of the cursor on the map: how many pixels have it.
COUNT_TEXTS = ("(() => { const c = document.getElementById('canvas'), counts = {}; for (let y = 0; y < c.clientHeight; y += 2) for (let x = 0; x < c.clientWidth; x += 2) "
               "{ const text = c.point(x, y); if (text) counts[text] = (counts[text] || 0) + 1; } return counts; })()")


def curved():
    """A map is drawn on the latitudes and longitudes that `coordinates` names, here over the date line, with rows and columns askew; rows of an uneven axis have their heights; a time has its bounds. Also within a group of netCDF-4."""
    lat = [[40 + 2 * y + x for x in range(4)] for y in range(3)]
    lon = [[(178 + 2 * x - y + 180) % 360 - 180 for x in range(4)] for y in range(3)]
    numbers = lambda rows: ", ".join(str(value) for row in rows for value in row)
    inner = ("dimensions: time = 1; nv = 2; y = 3; x = 4; depth = 3; variables: double time_bnds(time, nv); double time(time); time:units = \"days since 2011-03-01\"; time:bounds = \"time_bnds\"; "
             "float lat(y, x); lat:units = \"degrees_north\"; float lon(y, x); lon:standard_name = \"longitude\"; int h(time, y, x); h:coordinates = \"lon lat\"; int deep(depth, x); float depth(depth); depth:units = \"m\"; depth:positive = \"down\"; "
             "data: time_bnds = 0, 31; time = 15.5; lat = %s; lon = %s; h = %s; deep = %s; depth = 0, 1, 10;" % (numbers(lat), numbers(lon), ", ".join(str(i) for i in range(12)), ", ".join(str(i) for i in range(12))))
    for kind in "classic", "netCDF-4":
        clear_directory()
        group = "ocean/" if kind == "netCDF-4" else ""
        with open("curved.cdl", "w") as file:
            file.write("netcdf w { " + (f"group: ocean {{ {inner} }}" if group else inner) + " }")
        script("model.sh", f"ncgen -b -k '{kind}' -o curved.nc curved.cdl; until test -e done; do sleep 0.05; done")
        script("reader.sh", "cat curved.nc > /dev/null; until test -e done; do sleep 0.05; done")
        with open("flow.yaml", "w") as flow:
            flow.write("version: 1\nname: curved\nstaging: {prewarm: 0}\ncomponents:\n  model: {command: ./model.sh}\n  reader: {command: ./reader.sh, ranks: 1}\nfiles:\n  - {path: curved.nc, writer: model, readers: [reader]}\n")
        run = start(SLUICE, "run", "--log-dir", "log", "flow.yaml")
        served = Served(run)
        browser = Browser(served.address)
        wait_for(lambda: browser.drawn() == ["curved.nc", group + "h", "map", "3x4", "0", "11"], "the map")
        caption = browser.value("document.getElementById('caption').textContent")
        expect("2011-03-16 12:00 UTC (2011-03-01 00:00 UTC to 2011-04-01 00:00 UTC)" in caption, f"the time and its bounds: {caption}")
        counts = browser.value(COUNT_TEXTS)
        side = lambda value: f"{abs(value)}°" + ("" if abs(value) == 180 else "E" if value > 0 else "W")
        expected = {f"{lat[y][x]}°N, {side(lon[y][x])}: {y * 4 + x}" for y in range(3) for x in range(4)}
        expect(set(counts) == expected and max(counts.values()) < 1.5 * min(counts.values()), f"the cells: {counts}")
        browser.screenshot("curved.png")
        browser.press("v")
        wait_for(lambda: browser.drawn()[1:3] == [group + "deep", "map"], "a section with an uneven axis")
        counts = browser.value(COUNT_TEXTS)
        rows = [sum(count for text, count in counts.items() if f"depth {depth} m" in text) for depth in (0, 1, 10)]
        expect(len(counts) == 12 and abs(rows[1] / rows[0] - 5) < 1 and abs(rows[2] / rows[0] - 9) < 1.5, f"the rows: {rows} {counts}")
        expect(browser.problems == [], f"the browser complains: {browser.problems}")
        browser.close()
        served.end()
        end_run(run)


def growing():
    """Of a file that grows, the newest record is followed until another one is chosen."""
    write_cdl(0)
    script("model.sh", "until test -e step_0; do sleep 0.05; done; ncgen -b -o wave_0.nc wave_0.cdl\nfor n in 1 2; do until test -e step_$n; do sleep 0.05; done; /usr/bin/python3 append.py $n; done; until test -e done; do sleep 0.05; done")
    with open("append.py", "w") as file:  # a record is a time, three rows of heights, and no padding between
        file.write("import struct, sys\nn = int(sys.argv[1])\nwith open('wave_0.nc', 'r+b') as file:\n    file.seek(0, 2)\n    file.write(struct.pack('>d12h', n, *[n * 100 + i for i in range(12)]))\n    file.seek(4)\n    file.write(struct.pack('>i', n + 1))\n")
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: waves\nstaging: {prewarm: 0}\ncomponents:\n  model: {command: ./model.sh}\n  reader: {command: \"sh -c 'until test -e done; do sleep 0.1; done; cat wave_0.nc > /dev/null'\"}\nfiles:\n  - {path: \"wave_*.nc\", writer: model, readers: [reader]}\n")
    run = start(SLUICE, "run", "--log-dir", "log", "flow.yaml")
    served = Served(run)
    let(run, 0)
    browser = Browser(served.address)
    wait_for(lambda: browser.drawn()[4:] == ["1", "12.5"], "the first record")
    allow("step_1")
    wait_for(lambda: browser.drawn()[4:] == ["51", "56.5"], "the second record")
    browser.press("ArrowDown")
    wait_for(lambda: browser.drawn()[4:] == ["1", "12.5"], "the record that is chosen")
    expect("1 of 2: 2011-03-11 05:00 UTC" in browser.value("document.getElementById('slices').textContent"), "its number and time")
    allow("step_2")
    wait_for(lambda: "1 of 3" in browser.value("document.getElementById('slices').textContent"), "the third record")
    expect(browser.drawn()[4:] == ["1", "12.5"], "the record that stays chosen")
    browser.press("ArrowUp")
    browser.press("ArrowUp")
    wait_for(lambda: browser.drawn()[4:] == ["101", "106.5"], "the newest record again")
    expect(browser.problems == [], f"the browser complains: {browser.problems}")
    browser.close()
    served.end()
    end_run(run)


def page():
    """The browser shows the run and the field, follows the newest step, obeys keys, is dark in the dark, and fits 400 pixels."""
    run = begin_run(3)
    served = Served(run)
    browser = Browser(served.address)
    wait_for(lambda: "running" in (browser.value("document.getElementById('state') && document.getElementById('state').textContent") or ""), "the state of the run")
    wait_for(lambda: "wave_0.nc" in browser.value("document.getElementById('components').textContent"), "what the reader waits for")
    expect("wave_*.nc" in browser.value("document.getElementById('graph').textContent"), "the graph")
    let(run, 0)
    wait_for(lambda: browser.drawn()[:4] == ["wave_0.nc", "h", "map", "3x4"], "the first step")
    expect("height <b> [m]" in browser.value("document.getElementById('caption').textContent") and "2011-03-11 05:00 UTC" in browser.value("document.getElementById('caption').textContent"), "units and time")
    # where the cells are: the least value is at the bottom left, the greatest at the top right, and one is missing
    pixel = ("(() => { const c = document.getElementById('canvas'), at = (x, y) => { for (let p = 0; p < 2000; p++) if (c.point(x * p, y)) return p; }; "
             "const find = want => { for (let y = 4; y < c.clientHeight; y += 4) for (let x = 4; x < c.clientWidth; x += 4) if (c.point(x, y).startsWith(want)) "
             "return [...c.getContext('2d').getImageData((x + 8) * devicePixelRatio, (y + 8) * devicePixelRatio, 1, 1).data.slice(0, 3)]; return null; }; return [%s].map(find); })()")
    least, greatest, gap, outside = browser.value(pixel % "'y 10°N, x 100°E: 1 m', 'y 30°N, x 130°E: 12.5 m', 'y 20°N, x 120°E: no value', 'y 99'")
    expect(least == [68, 1, 84] and greatest == [253, 231, 37] and gap == [196, 200, 194] and outside is None, f"the colours: {least}, {greatest}, {gap}")
    let(run, 1)
    wait_for(lambda: browser.drawn()[:1] == ["wave_1.nc"], "the newest step")
    place = browser.value("(() => { const c = document.getElementById('canvas'), box = c.getBoundingClientRect(); for (let y = 0; y < box.height; y += 9) for (let x = 0; x < box.width; x += 9) "
                          "if (c.point(x, y).startsWith('y 30°N, x 130°E')) return [box.x + x + 2, box.y + y + 2]; })()")
    for kind in "mousePressed", "mouseReleased":
        browser.ask("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
    wait_for(lambda: browser.drawn()[1:] == ["h", "line", "4", "61", "62.5"], "the line through a point")
    browser.press("m")
    wait_for(lambda: browser.drawn()[1:3] == ["h", "map"], "the map by its key")
    browser.press("l")
    wait_for(lambda: browser.drawn()[1:4] == ["h", "line", "4"], "a line by its key")
    browser.press("h")
    wait_for(lambda: browser.drawn()[2:4] == ["histogram", "3x4"], "a histogram by its key")
    browser.press("m")
    browser.press("f")  # stays at this step
    wait_for(lambda: browser.drawn()[2:3] == ["map"] and browser.value("document.getElementById('file').value").endswith("wave_1.nc"), "the file that is held")
    let(run, 2)
    wait_for(lambda: "wave_2.nc" in browser.value("document.getElementById('events').textContent"), "the event")
    expect(browser.drawn()[:1] == ["wave_1.nc"], "the step that is held")
    browser.press("ArrowRight")
    wait_for(lambda: browser.drawn()[:1] == ["wave_2.nc"], "the next step by its key")
    browser.press("v")
    wait_for(lambda: browser.drawn()[1:2] == ["deep"], "another variable by its key")
    browser.press("ArrowUp")
    wait_for(lambda: browser.drawn()[4:6] == ["12", "23"], "another slice by its key")
    paper = browser.value("getComputedStyle(document.body).backgroundColor")
    browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    expect(browser.value("getComputedStyle(document.body).backgroundColor") != paper, "dark mode")
    browser.ask("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=False)
    wait_for(lambda: browser.value("document.documentElement.scrollWidth") <= 400, "the width of 400 pixels")
    picture = browser.screenshot("narrow.png")
    expect(picture[16:24] == struct.pack(">II", 400, 900), "the size of the screenshot")
    expect(browser.problems == [], f"the browser complains: {browser.problems}")
    browser.close()
    served.end()
    end_run(run)


def ensemble():
    """Members of an ensemble, and their files, are one in the graph and in the list."""
    script("wait.sh", "until test -e done; do sleep 0.1; done")
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: members\nstaging: {prewarm: 0}\ncomponents:\n  model: {command: ./wait.sh}\n  member: {command: ./wait.sh, instances: 4}\n  last: {command: ./wait.sh}\n"
                   "files:\n  - {path: \"wave_*.nc\", writer: model, readers: [member]}\n  - {path: \"out_{instance}.nc\", writer: member, readers: [last]}\n")
    run = start(SLUICE, "run", "--log-dir", "log", "flow.yaml")
    served = Served(run)
    browser = Browser(served.address)
    titles = wait_for(lambda: browser.value("[...document.querySelectorAll('#graph text.bold')].map(each => each.textContent).sort()"), "the graph")
    expect(titles == ["last", "member × 4", "model", "out_*.nc", "wave_*.nc"], f"the graph: {titles}")
    expect(browser.value("document.querySelectorAll('#graph path.edge').length") == 4, "the arrows")
    expect("member × 44 use no file yet" in browser.value("document.getElementById('components').textContent"), "the list")
    expect(browser.problems == [], f"the browser complains: {browser.problems}")
    browser.close()
    served.end()
    end_run(run)


def end():
    """The page tells of the end of the run, and stays; so it does for who comes later."""
    run = begin_run(1)
    served = Served(run)
    browser = Browser(served.address)
    let(run, 0)
    wait_for(lambda: browser.drawn()[:1] == ["wave_0.nc"], "the step")
    end_run(run)
    state = "document.getElementById('state') && document.getElementById('state').textContent"
    wait_for(lambda: browser.value(state) == "ended: finished", "the verdict")
    expect(browser.drawn()[:1] == ["wave_0.nc"] and browser.value("document.getElementById('run').textContent") == "waves", "what the page still shows")
    line = WebSocket(served.address + "live")
    expect(json.loads(line.receive())["state"] == "ended", "the news for who comes later")
    line.close()
    browser.close()
    served.end()


def ended():
    """Of a run that has ended, while it was served or before, the record and the files that it has kept are shown; a file that is gone is named so."""
    run = begin_run(3, rule=", keep: true")
    served = Served(run)
    for step in range(3):
        let(run, step)
    end_run(run)
    expect(is_same(served.field("h", "last,*,*")[1], expected_field(2)), "the newest file after the end")
    served.end()
    for place in "log", os.path.abspath("log"):
        served = Served(place)
        expect_fields(served, 2)
        line = WebSocket(served.address + "live")
        news = json.loads(line.receive())
        line.close()
        expect([news[key] for key in ("state", "text", "kept")] == ["ended", "finished", 3] and [each["state"] for each in news["published"]] == ["on disk"] * 3, f"the news: {news}")
        status = news["status"]
        expect(status["run"] == "waves" and [each["end"] for each in status["components"]] == ["exited with status 0"] * 2 and status["rules"][0]["files"] == 3 and status["opened_bytes"] > 0, f"the status: {status}")
        expect(sum(each["used"] for each in news["history"]) > 0 and any("wave" in each or "exit status 0" in each for each in news["events"]), f"the history: {news}")
        if place == "log":
            served.end()
    os.unlink("wave_2.nc")
    os.utime("wave_0.nc", (time.time() + 100, time.time() + 100))
    expect_fields(served, 1)
    expect(served.refusal("field", path=os.path.abspath("wave_2.nc"), variable="h", at="0,*,*")[0] == 404 and served.refusal("file", path="/etc/passwd")[0] == 404, "what is gone, and other files")
    browser = Browser(served.address)
    wait_for(lambda: browser.drawn()[:3] == ["wave_1.nc", "h", "map"], "the newest file that is there")
    expect(browser.value("[...document.getElementById('file').options].map(each => each.textContent)") == ["the newest", "wave_2.nc (gone)", "wave_1.nc", "wave_0.nc (changed since the run)"], "the list of files")
    expect("waves" == browser.value("document.getElementById('run').textContent") and "wave_*.nc" in browser.value("document.getElementById('graph').textContent"), "the graph")
    browser.screenshot("ended.png")
    expect(browser.problems == [], f"the browser complains: {browser.problems}")
    browser.close()
    browser = Browser(served.address + "report")
    wait_for(lambda: "wave_1.nc" in (browser.value("document.body && document.body.textContent") or "") and browser.value("document.getElementById('timeline').width > 300"), "the report")
    expect(browser.problems == [], f"the browser complains: {browser.problems}")
    browser.close()
    served.end()
    call(SLUICE, "serve", "no_such_run", status=2)


def kept_nothing():
    """A run without files on disk: the page says so. Of several runs in .sluice, the last one is served."""
    for steps in 1, 2:
        run = begin_run(steps)
        for step in range(steps):
            let(run, step)
        end_run(run)
        os.makedirs(".sluice", exist_ok=True)
        os.rename("log", f".sluice/waves-20260101-00000{steps}-{steps}")
        clear_steps()
    served = Served("flow.yaml")
    browser = Browser(served.address)
    wait_for(lambda: "left no file" in (browser.value("document.getElementById('caption') && document.getElementById('caption').textContent") or ""), "the caption")
    expect(browser.value("document.getElementById('more').textContent").startswith("2 steps were in memory alone"), "what is gone")
    expect(browser.problems == [], f"the browser complains: {browser.problems}")
    browser.close()
    expect(served.refusal("field", rule=0, variable="h", at="0,*,*")[0] == 404, "a field")
    served.end()


def clear_steps():
    for name in [f"step_{n}" for n in range(9)] + ["done"]:
        os.unlink(name)


def answers(served, path="", **headers):
    connection = http.client.HTTPConnection(served.parts.hostname, served.parts.port, timeout=60)
    connection.request("GET", path or served.parts.path, headers=headers)
    return connection.getresponse().status


def refusals():
    """Who has not the token, or comes from another page, gets nothing."""
    run = begin_run(1)
    served = Served(run)
    expect(len(served.token) == 32 and answers(served) == 200, "the page")
    other = ("0" if served.token[0] != "0" else "1") + served.token[1:]
    for path in "/", "/live.js", f"/{other}/", f"/{served.token}", f"/{served.token[:-1]}/", f"/x/{served.token}/", "/../" + served.token + "/", f"http://127.0.0.1/{served.token}/", "*":
        expect(answers(served, path) == 403, path)
    for path in "..", "../..", "%2e%2e/etc/passwd", "../../../../../../etc/passwd", "page", "live.js/", "%00":
        expect(answers(served, served.parts.path + path) == 404, path)
    for host in "sluice.example.org", "127.0.0.1.example.org:80", "", "127.0.0.1@example.org", "[::2]:80":
        expect(answers(served, Host=host) == 403, f"the host {host}")
    for host in "localhost:9999", "127.0.0.1", "[::1]:80":
        expect(answers(served, Host=host) == 200, f"the host {host}")
    expect(answers(served, Origin="http://example.org") == 403 and answers(served, Origin="null") == 403, "another page")
    expect(answers(served, Origin=f"http://{served.parts.netloc}") == 200, "the own page")
    line = WebSocket(served.address + "live", Origin="http://example.org")
    expect(line.status == 403, "another page's WebSocket")
    expect(WebSocket(served.address.replace(served.token, other) + "live").status == 403, "a WebSocket without the token")
    connection = http.client.HTTPConnection(served.parts.hostname, served.parts.port, timeout=60)
    connection.request("DELETE", served.parts.path)
    expect(connection.getresponse().status == 405, "another method")
    headers = urllib.request.urlopen(served.address).headers
    expect("default-src 'none'" in headers["Content-Security-Policy"] and headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store", f"the headers: {headers}")
    listening = subprocess.run(["ss", "-ltnp"], capture_output=True, text=True).stdout
    expect(f"127.0.0.1:{served.parts.port}" in listening and f"0.0.0.0:{served.parts.port}" not in listening, "where it listens: " + listening)
    served.end()
    end_run(run)


def as_nobody(*command):
    if os.geteuid() != 0:
        print("SKIPPED: only root can become another user")
        sys.exit(77)
    return call("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command)


CONNECT = ("/usr/bin/python3", "-c", "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ntry:\n    s.connect(sys.argv[1])\nexcept PermissionError:\n    sys.exit('denied')\n")
KNOCK = ("/usr/bin/python3", "-c", "import sys, urllib.request\nprint(urllib.request.urlopen(sys.argv[1]).status)\n")


def other_user():
    """Another user of the machine finds no run, and cannot guess the address; the command line does not tell it."""
    run = begin_run(1)
    served = Served(run)
    expect("no workflow of the user nobody" in as_nobody(SLUICE, "serve").err, "the run")
    refusal = as_nobody(*KNOCK, f"http://{served.parts.netloc}/")
    expect("403" in refusal.err and refusal.status != 0, "the page")
    expect(served.token not in as_nobody("ps", "-efww").out, "the token")
    served.end()
    end_run(run)


def at_a_socket():
    """A Unix socket is this user's alone, and goes with the command."""
    run = begin_run(1)
    path = f"/tmp/sluice-serve-test-{os.getpid()}"
    served = Served(run, "--socket", path)
    expect(f"-L 8800:{path} " in served.lines[1], f"what it prints: {served.lines}")
    expect(os.stat(path).st_mode & 0o777 == 0o600, "the mode")
    line = WebSocket(served.address + "live", unix=path)
    expect(json.loads(line.receive())["state"] == "running", "the news")
    line.close()
    call(SLUICE, "serve", str(run.pid), "--socket", path, status=3)
    expect("denied" in as_nobody(*CONNECT, path).err, "another user")
    served.end(signal.SIGTERM)
    expect(not os.path.exists(path), "the socket is left behind")
    end_run(run)


def hostile_bytes(generator, served):
    """Something that is nearly a request, or nothing like it."""
    good = f"GET {served.parts.path}live HTTP/1.1\r\nHost: {served.parts.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    kind = generator.randrange(6)
    if kind == 0:
        return generator.randbytes(generator.randrange(1, 3000))
    if kind == 1:
        return good[:generator.randrange(len(good))]
    if kind == 2:
        return good[:-4] + b"\r\nX: " + b"x" * generator.choice((9000, 100000, 1000000)) + b"\r\n\r\n"
    if kind == 3:  # frames of any kind, with any length
        return good + b"".join(generator.randbytes(generator.randrange(1, 15)) for _ in range(generator.randrange(1, 20)))
    damaged = bytearray(good if kind == 4 else good.replace(b"live", b"field?" + generator.choice((b"rule=0&variable=h&at=0,*,*", b"path=%", b"rule=" + b"9" * 400, b"at=" + b"," * 4000, b"&&==&%zz"))).replace(b"Upgrade: websocket", b"Accept: */*"))
    for _ in range(generator.randrange(4)):
        damaged[generator.randrange(len(damaged))] = generator.randrange(256)
    return bytes(damaged)


def hostile():
    """Random bytes, half and slow requests, a thousand connections: it goes on, in bounded memory."""
    run = begin_run(1)
    served = Served(run)
    let(run, 0)
    expect_fields(served, 0)
    generator = random.Random(test_seed())
    for _ in range(400):
        served.raw(hostile_bytes(generator, served), wait=False)
    before = served.resident()
    lines = []
    for number in range(1000):
        line = socket.create_connection((served.parts.hostname, served.parts.port))
        if number % 3:
            line.sendall(hostile_bytes(generator, served)[:number % 200])
        lines.append(line)
    expect_fields(served, 0)
    descriptors = len(os.listdir(f"/proc/{served.process.pid}/fd"))
    expect(descriptors < 300, f"{descriptors} descriptors are open")
    expect(served.resident() < before + (40 << 20), f"{before} bytes became {served.resident()}")
    for line in lines:
        line.close()
    slow = [socket.create_connection((served.parts.hostname, served.parts.port)) for _ in range(10)]
    for letter in f"GET {served.parts.path} HTTP/1.1\r\n":
        for line in slow:
            line.sendall(letter.encode())
        time.sleep(0.02)
    for line in slow:  # nobody may begin for ever
        line.settimeout(60)
        expect(line.recv(100) == b"", "a request that never ends")
        line.close()
    line = WebSocket(served.address + "live")
    expect(line.status == 101 and json.loads(line.receive())["state"] == "running", "the news afterwards")
    line.close()
    expect_fields(served, 0)
    served.end()
    end_run(run)


def switches(pid):
    with open(f"/proc/{pid}/status") as file:
        return [line for line in file if "voluntary_ctxt_switches" in line]


def sockets(pid):
    found = subprocess.run(["ss", "-xp"], capture_output=True, text=True).stdout
    return [line for line in found.splitlines() if f"pid={pid}," in line]


def lookers():
    """Nothing is asked while nobody looks; sixteen can look; who does not read holds back nobody."""
    run = begin_run(1)
    served = Served(run)
    served.get("")
    expect(sockets(served.process.pid) == [], "it is connected to the run before anybody looks")
    lines = [WebSocket(served.address + "live") for _ in range(16)]
    expect([line.status for line in lines] == [101] * 16, "sixteen pages")
    expect(WebSocket(served.address + "live").status == 503, "the seventeenth page")
    for line in lines[:3]:
        news = [json.loads(line.receive()) for _ in range(3)]
        expect(all(each["state"] == "running" and each["status"]["run"] == "waves" for each in news) and news[0]["status"]["time_ms"] < news[2]["status"]["time_ms"], "the news")
        expect(news[0]["status"]["rules"][0]["writer"] == "model" and news[0]["status"]["rules"][0]["readers"] == ["reader"], "the graph's figures")
    lines[0].send("speak")  # nothing is expected from a page
    expect(wait_for(lambda: lines[0].receive() is None, "the end of who speaks"), "who speaks")
    for line in lines:
        line.close()
    wait_for(lambda: WebSocket(served.address + "live").status == 101, "a place")

    def is_quiet():
        first = switches(served.process.pid), [switches(pid) for pid in os.listdir(f"/proc/{served.process.pid}/task")]
        time.sleep(2.5)
        return first == (switches(served.process.pid), [switches(pid) for pid in os.listdir(f"/proc/{served.process.pid}/task")])

    wait_for(is_quiet, "quiet while nobody looks")
    served.end()
    end_run(run)


def mistakes():
    for words, text in (["--port", "x"], "no port"), (["--port"], "needs a value"), (["--socket", "s", "--port", "1"], "either"), (["--what"], "no option '--what'"), (["a", "b"], "at most one"):
        expect(text in call(SLUICE, "serve", *words, status=2).err, text)
    run = begin_run(1)
    served = Served(run)
    refusal = call(SLUICE, "serve", str(run.pid), "--port", str(served.parts.port), status=3)
    expect(f"port {served.parts.port}" in refusal.err and "--port" in refusal.err, "a port that is in use")
    expect("too long" in call(SLUICE, "serve", str(run.pid), "--socket", "/tmp/" + "s" * 200, status=3).err, "a long path")
    served.end()
    end_run(run)


clear_directory()
globals()[case]()
