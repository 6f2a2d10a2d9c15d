#!/usr/bin/python3
"""attach.py BUILD PROGRAM CASE: `sluice ls`, `cp` and `attach` look into a run in which PROGRAM (couple.c) writes. They have nothing of the run's environment."""
import atexit
import filecmp
import os
import shutil
import signal
import socket
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import allow, clear_directory, expect, finish, launch, open_files, wait_for, wait_for_event

build, program, case = sys.argv[1:4]
SLUICE = build + "/bin/sluice"
runs = []
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules


def in_own_tmp():
    """Goes on where /tmp, in which runs have their directories, is this test's alone: other tests run workflows, too."""
    if not os.environ.get("SLUICE_TEST_NAMESPACE"):
        flag = "-m" if os.geteuid() == 0 else "-rm"
        if subprocess.run(["unshare", flag, "true"], capture_output=True).returncode != 0:
            print("SKIPPED: no mount namespace can be made here")
            sys.exit(77)
        os.environ.pop("XDG_RUNTIME_DIR", None)
        os.execvpe("unshare", ["unshare", flag, *sys.argv], {**os.environ, "SLUICE_TEST_NAMESPACE": "1"})
    tree, here = os.path.dirname(os.path.dirname(os.path.dirname(sys.path[0]))), os.getcwd()
    descriptor = os.open(tree, os.O_PATH)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/tmp"], check=True)
    if not os.path.exists(build):  # this clone was in /tmp
        os.makedirs(tree)
        subprocess.run(["mount", "--no-canonicalize", "--bind", f"/proc/self/fd/{descriptor}", tree], check=True, pass_fds=[descriptor])
        os.chdir(here)
    os.close(descriptor)


def terminal(*command, status=None, **options):
    """A command in another terminal, to its end."""
    return finish(begin(*command, **options), status)


def begin(*command, stdin=subprocess.DEVNULL, **options):
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **options.pop("environment", {})}, **options)


def run(writes, script="cat a.nc > /dev/null", rule="*.nc", more="", name="flow", staging="prewarm: 0", environment=None, **options):
    """A model that writes, and a reader that is a script for the shell."""
    with open(options.get("cwd", ".") + "/reader.sh", "w") as file:
        file.write("set -e\n" + script + "\n")
    lines = ["version: 1", f"name: {name}", f"staging: {{{staging}}}", "components:", f"  model: {{command: {program} {writes}, ranks: 2}}",
             "  reader: {command: sh reader.sh}", "files:", f'  - {{path: "{rule}", writer: model, readers: [reader]{more}}}']
    with open(options.get("cwd", ".") + "/flow.yaml", "w") as flow:
        flow.write("\n".join(lines) + "\n")
    runs.append(harness.start(SLUICE, "run", "flow.yaml", environment=environment, **options))
    return runs[-1]


def directly(writes):
    os.makedirs("direct", exist_ok=True)
    launch(2, program, *writes.split(), cwd="direct", status=0)


def published(name, run="flow"):
    """Waits until `sluice ls` shows the file; its line."""

    def look():
        for process in runs:
            if process.poll() not in (None, 0):
                finish(process, 0)
        lines = subprocess.run([SLUICE, "ls", run], capture_output=True, text=True, env={"PATH": os.environ["PATH"]}).stdout.splitlines()
        return next((line for line in lines if line.split()[:1] == [name]), None)

    return wait_for(look, f"{name} in sluice ls")


def expect_same(copy, original):
    expect(filecmp.cmp(copy, "direct/" + original, shallow=False), f"{copy} has other bytes than {original}, written directly")


class Session:
    """A Python program that is attached, and does what it is told, line by line."""

    def __init__(self, *options):
        with open("session.py", "w") as file:
            file.write("import sys\nknown = {}\nfor line in sys.stdin:\n    try:\n        print(eval(line, known), flush=True)\n"
                       "    except SyntaxError:\n        exec(line, known)\n        print('done', flush=True)\n    except Exception as error:\n        print(type(error).__name__, flush=True)\n")
        self.process = begin(SLUICE, "attach", *options, "--", PYTHON, "session.py", stdin=subprocess.PIPE)

    def __call__(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        print(">>>", text, "=>", answer, flush=True)
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.stdin = None
        finish(self.process, 0)


def ls_and_cp():
    os.makedirs("direct/out")
    os.makedirs("out")
    directly("write a.nc 5000 write out/b.nc 70")
    process = run("write a.nc 5000 write out/b.nc 70 await end", "until test -e end; do sleep 0.1; done\ncat a.nc > copy.reader")
    line = published("out/b.nc")
    expect(line.split()[1:3] == [f"{os.path.getsize('direct/out/b.nc') / 1024:.2f}", "KiB"] and line.endswith("in memory"), "the line of out/b.nc: " + line)
    listed = terminal(SLUICE, "ls", status=0).out
    expect("flow" in listed and os.path.abspath("flow.yaml") in listed and "a.nc" in listed, "ls")
    terminal(SLUICE, "cp", "flow:a.nc", "copy", status=0)
    terminal(SLUICE, "cp", "b.nc", "direct", status=0)  # the only run, the only file of that name, a directory
    terminal("sh", "-c", f"{SLUICE} cp :{os.path.abspath('a.nc')} /dev/stdout > copy.out", status=0)
    os.symlink("copy.linked", "link")
    terminal(SLUICE, "cp", "a.nc", "link", status=0)
    expect(os.path.islink("link") and os.path.islink("/dev/stdout"), "a link was replaced")
    expect_same("copy", "a.nc")
    expect_same("copy.out", "a.nc")
    expect_same("copy.linked", "a.nc")
    expect(filecmp.cmp("direct/b.nc", "direct/out/b.nc", shallow=False), "the copy in a directory")
    missing = terminal(SLUICE, "cp", "flow:a_nc", "no", status=2)
    expect("'a_nc' is not published" in missing.err and "a.nc" in missing.err, "a name that is not there")
    expect(not os.path.exists("no") and not os.path.exists("a.nc"), "a file on disk that nobody asked for")
    allow("end")
    finish(process, 0)
    expect_same("copy.reader", "a.nc")
    expect("no workflow of the user" in terminal(SLUICE, "ls", status=2).err, "ls after the end")


def several_runs():
    for name in ("one", "two", "more"):
        os.makedirs(name)
    several = [run("write a.nc 10 await end", "until test -e end; do sleep 0.1; done", name="same", cwd="one"),
               run("write a.nc 20 await end", "until test -e end; do sleep 0.1; done", name="same", cwd="two"),
               run("write a.nc 30 await end", "until test -e end; do sleep 0.1; done", name="other", cwd="more")]
    published("a.nc", "other")
    for process in several:
        published("a.nc", str(process.pid))
    refusal = terminal(SLUICE, "cp", "a.nc", "copy", status=2)
    expect("3 runs" in refusal.err and "name one" in refusal.err and str(several[1].pid) in refusal.err, "cp of one of several runs")
    expect("2 runs called 'same'" in terminal(SLUICE, "attach", "same", "--", "true", status=2).err, "two of the same name")
    expect("no run is called 'othr', did you mean 'other'" in terminal(SLUICE, "ls", "othr", status=2).err.replace(";", ",").replace(": did", ", did"), "a wrong name")
    listed = terminal(SLUICE, "ls", status=0)
    expect(listed.out.count("same") == 2 and "other" in listed.out, "ls of several runs")
    terminal(SLUICE, "cp", f"{several[1].pid}:a.nc", "copy.two", status=0)
    terminal(SLUICE, "cp", "other:a.nc", "copy.other", status=0)
    directly("write a.nc 20")
    expect_same("copy.two", "a.nc")
    expect(os.path.getsize("copy.other") == os.path.getsize("copy.two") + 80, "the file of the third run")
    for name in ("one", "two", "more"):
        allow(name + "/end")
    for process in several:
        finish(process, 0)


def python():
    """A session sees newer steps, keeps what it has open, and gets no for an answer at once."""
    process = run("write w1.nc 100 await more write w2.nc 50 write w1.nc 300 await end", "until test -e end; do sleep 0.1; done")
    published("w1.nc")
    with open("ordinary.nc", "w") as file:
        file.write("on disk\n")
    session = Session("flow")
    session("import os, glob, netCDF4")
    session("first = netCDF4.Dataset('w1.nc')")
    expect(session("first['v'].shape") == "(100,)", "the first step")
    expect(session("open('w2.nc')") == "FileNotFoundError", "a file that is not published")
    expect(session("open('ordinary.nc').read(7)") == "on disk", "an ordinary file")
    expect(session("sorted(glob.glob('*.nc'))") == "['ordinary.nc', 'w1.nc']", "the listing")
    allow("more")
    published("w2.nc")
    wait_for(lambda: session("netCDF4.Dataset('w1.nc')['v'].shape") == "(300,)", "the newer step")
    expect(session("netCDF4.Dataset('w2.nc')['v'].shape") == "(50,)", "another file")
    expect(session("first['v'][:].shape") == "(100,)", "what is open")
    expect(session("sorted(os.listdir('.')).count('w2.nc')") == "1" and session("os.path.exists('w2.nc')") == "True", "the new file in a listing")
    expect(session("open('w2.nc', 'rb').read(3)") == "b'CDF'", "reading by the C library")
    allow("end")
    finish(process, 0)
    expect(session("first['v'][:].shape") == "(100,)", "what is open after the run")
    expect(session("os.path.exists('w1.nc')") == "False", "a file of a run that has ended")
    session.end()
    expect(not os.path.exists("w1.nc"), "w1.nc is on disk")


def crashes():
    """Programs that are killed while they read harm nothing."""
    with open("loop.py", "w") as file:
        file.write("while True:\n    for i in range(8):\n        try:\n            open(f'a{i}.nc', 'rb').read()\n        except FileNotFoundError:\n            pass\n    print('round', flush=True)\n")
    process = run("write a0.nc 200000 await go repeat 8 write a%d.nc 200000", "i=0\nuntil test -e end; do sleep 0.1; done\nwhile [ $i -lt 8 ]; do cp a$i.nc copy$i; i=$((i + 1)); done")
    published("a0.nc")
    for i in range(10):
        looker = begin(SLUICE, "attach", "--", PYTHON, "loop.py")
        for _ in range(i % 3 + 1):
            looker.stdout.readline()
        os.kill(looker.pid, signal.SIGKILL if i % 2 else signal.SIGSEGV)
        looker.communicate()
        if i == 3:
            allow("go")
    allow("end")
    finish(process, 0)
    directly("repeat 8 write a%d.nc 200000")
    for i in range(8):
        expect_same(f"copy{i}", f"a{i}.nc")


def holds_back_nobody():
    """A program that is stopped, with files open, keeps no memory from the run."""
    script = "i=0\ncat a.nc > /dev/null\nuntil test -e go; do sleep 0.1; done\nwhile [ $i -lt 20 ]; do cp b$i.nc copy; i=$((i + 1)); done"
    process = run("write a.nc 100000 await go repeat 20 write b%d.nc 100000", script, staging="prewarm: 0, memory: 4MiB, spill: none")
    published("a.nc")
    session = Session()
    session("file = open('a.nc', 'rb')")
    os.kill(session.process.pid, signal.SIGSTOP)
    allow("go")
    finish(process, 0)
    os.kill(session.process.pid, signal.SIGCONT)
    expect(session("len(file.read())") == str(os.path.getsize("copy")), "what was open")
    session.end()


def other_user():
    """Neither by the command, nor by the socket, even if somebody opens the directories."""
    if os.geteuid() != 0:
        print("SKIPPED: only root can become another user")
        sys.exit(77)
    process = run("write a.nc 10 await end", "until test -e end; do sleep 0.1; done")
    published("a.nc")
    as_nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    for command in (("ls",), ("cp", "flow:a.nc", "/tmp/never"), ("attach", "flow", "--", "true")):
        refusal = terminal(*as_nobody, SLUICE, *command, status=2)
        expect("no workflow of the user nobody" in refusal.err, "another user")
    [directory] = ["/tmp/" + name for name in os.listdir("/tmp") if name.startswith("sluice-")]
    knock = ("import socket, sys\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\ntry:\n    s.connect(sys.argv[1])\nexcept PermissionError:\n    sys.exit('denied')\n"
             "try:\n    print('closed' if s.recv(100) == b'' else 'served')\nexcept ConnectionResetError:\n    print('closed')")
    expect("denied" in terminal(*as_nobody, PYTHON, "-c", knock, directory + "/matcher").err, "the socket")
    os.chmod(directory, 0o755)
    os.chmod(directory + "/matcher", 0o666)
    expect("closed" in terminal(*as_nobody, PYTHON, "-c", knock, directory + "/matcher").out, "the open socket")
    wait_for_event(process, "a connection was turned away")
    os.chmod(directory, 0o700)
    allow("end")
    finish(process, 0)


LISTING = """
import glob, os, sys
names = sorted(name for name in os.listdir('.') if name.startswith('wave_'))
assert names == sorted(set(names)), names
assert names == sorted(glob.glob('wave_*')) == sorted(entry.name for entry in os.scandir() if entry.name.startswith('wave_')), names
assert all(entry.is_file() for entry in os.scandir() if entry.name.startswith('wave_'))
assert names == sorted(name for name in os.listdir(os.open('.', os.O_RDONLY)) if name.startswith('wave_'))
assert 'wave_far.nc' in os.listdir('far') and 'wave_far.nc' not in names
print(' '.join(names))
"""


def listing():
    """Published files stand beside those on disk, none twice, in components and in programs that are attached."""
    os.makedirs("far")
    with open("wave_0.nc", "w") as file:  # of an earlier run, and published
        file.write("old\n")
    with open("wave_on_disk.txt", "w") as file:
        file.write("text\n")
    with open("list.py", "w") as file:
        file.write(LISTING)
    with open("together.py", "w") as file:
        file.write("import xarray\nprint(xarray.open_mfdataset('wave_[12].nc', combine='nested', concat_dim='x')['v'].shape)\n")
    with open("scan.c", "w") as file:
        file.write("""#define _GNU_SOURCE
#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
static int wanted(const struct dirent* entry) { return strncmp(entry->d_name, "wave_", 5) == 0; }
int main(void) {
  struct dirent** list;
  const int count = scandir(".", &list, wanted, alphasort);
  for (int i = 0; i < count; ++i) printf("%s ", list[i]->d_name);
  glob_t found;
  if (glob("wave_*", 0, NULL, &found) != 0 || (int)found.gl_pathc != count) return 1;
  for (int i = 0; i < count; ++i)
    if (strcmp(found.gl_pathv[i], list[i]->d_name) != 0) return 2;
  globfree(&found);
  DIR* directory = opendir(".");
  int first = 0, second = 0;
  long place = -1, names_behind = 0;
  while (readdir(directory) != NULL)
    if (++first == count) place = telldir(directory);
  rewinddir(directory);
  while (readdir(directory) != NULL) ++second;
  seekdir(directory, place);
  while (readdir(directory) != NULL) ++names_behind;
  printf("\\n");
  return first == second && names_behind == first - count ? 0 : 3;
}
""")
    harness.call("gcc", "-o", "scan", "scan.c", status=0)
    has_xarray = harness.call(PYTHON, "-c", "import xarray, dask").status == 0
    commands = [f"{PYTHON} list.py > {{0}}.python", "ls wave_* > {0}.shell", "ls | grep ^wave_ > {0}.ls", "find . -maxdepth 1 -name 'wave_*' | sort > {0}.find", "./scan > {0}.scan"]
    if has_xarray:
        commands.append(f"{PYTHON} together.py > {{0}}.xarray")
    script = "cat wave_2.nc > /dev/null\ncat far/wave_far.nc > /dev/null\n" + "\n".join(commands).format("reader") + "\ntouch listed\nuntil test -e end; do sleep 0.1; done"
    process = run("write wave_0.nc 10 write wave_1.nc 20 write wave_2.nc 30 write far/wave_far.nc 1 await end", script, "wave_*.nc")
    wait_for(lambda: os.path.exists("listed") or process.poll() is not None, "the reader")
    expect(process.poll() is None, "the reader failed: " + (process.communicate()[1] if process.poll() is not None else ""))
    terminal(SLUICE, "attach", "--", "sh", "-e", "-c", "\n".join(commands).format("attached"), status=0)
    allow("end")
    finish(process, 0)
    names = ["wave_0.nc", "wave_1.nc", "wave_2.nc", "wave_on_disk.txt"]
    for who in ("reader", "attached"):
        for how in ("python", "shell", "ls", "find", "scan"):
            with open(f"{who}.{how}") as file:
                found = [name.removeprefix("./") for name in file.read().split()]
            expect(sorted(found) == names, f"{who}, {how}: {found}")
        if has_xarray:
            with open(who + ".xarray") as file:
                expect(file.read().strip() == "(50,)", f"{who}: open_mfdataset")
    expect(sorted(name for name in os.listdir(".") if name.startswith("wave_")) == ["wave_0.nc", "wave_on_disk.txt"], "files on disk")


def stale():
    """A run that was killed is not listed, and the next one removes what it left."""
    process = run("write a.nc 10 await end", "until test -e end; do sleep 0.1; done")
    published("a.nc")
    harness.kill_run(process)
    expect("no workflow" in terminal(SLUICE, "ls", status=2).err, "a run that was killed is listed")
    expect("no workflow" in terminal(SLUICE, "attach", "flow", "--", "true", status=2).err, "a run that was killed")
    allow("end")
    finish(run("write b.nc 10", "cat b.nc > copy"), 0)
    left = [name for name in os.listdir("/tmp") if name.startswith("sluice-")]
    expect(not left, f"left of the run that was killed: {left}")


def ncview():
    """A viewer with windows stays while the run goes on, and shows what was published."""
    if not shutil.which("ncview") or not shutil.which("Xvfb"):
        print("SKIPPED: ncview and Xvfb are needed")
        sys.exit(77)
    process = run("write a.nc 100 await more write b.nc 100 await end", "until test -e end; do sleep 0.1; done")
    published("a.nc")
    server = subprocess.Popen(["Xvfb", "-displayfd", "1", "-nolisten", "tcp"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    display = {"DISPLAY": ":" + server.stdout.readline().strip()}

    def has_image(viewer):
        expect(viewer.poll() is None, "ncview ended: " + (viewer.communicate()[1] if viewer.poll() is not None else ""))
        return any("sluice-image" in path for path in open_files(viewer.pid))

    def has_window(viewer):
        sockets = subprocess.run(["ss", "-xp"], capture_output=True, text=True).stdout
        return has_image(viewer) and f"pid={viewer.pid}," in sockets

    viewers = [begin(SLUICE, "attach", "--", "ncview", "a.nc", environment=display)]
    wait_for(lambda: has_window(viewers[0]), "ncview")
    allow("more")
    published("b.nc")
    viewers.append(begin(SLUICE, "attach", "--", "ncview", "b.nc", environment=display))
    wait_for(lambda: has_window(viewers[1]), "ncview of the newer file")
    allow("end")
    finish(process, 0)
    expect(all(viewer.poll() is None for viewer in viewers), "ncview ended with the run")
    for viewer in viewers:
        viewer.terminate()
        viewer.communicate()
    server.terminate()
    server.communicate()


def outlives_run():
    """What is attached is no part of the run: it does not end with it, nor does the run wait for it."""
    process = run("write a.nc 10 await end", "until test -e end; do sleep 0.1; done")
    published("a.nc")
    with open("outlive.sh", "w") as file:
        file.write("exec < a.nc\ntouch attached\nuntil test -e over; do sleep 0.1; done\ncat > copy\ntest ! -e a.nc\n")
    looker = begin(SLUICE, "attach", "--", "sh", "-e", "outlive.sh")
    wait_for(lambda: os.path.exists("attached"), "what is attached")
    allow("end")
    finish(process, 0)
    expect(looker.poll() is None, "what was attached ended with the run")
    allow("over")
    finish(looker, 0)
    directly("write a.nc 10")
    expect_same("copy", "a.nc")


def refusals():
    """Mistakes in the command line, and programs that cannot be attached."""
    with open("one.c", "w") as file:
        file.write("int main(void) { return 0; }\n")
    harness.call("gcc", "-static", "-o", "static", "one.c", status=0)
    process = run("write a.nc 10 await end", "until test -e end; do sleep 0.1; done")
    published("a.nc")
    expect("statically linked" in terminal(SLUICE, "attach", "--", "./static", status=2).err, "a static program")
    expect("attach [RUN] -- PROGRAM" in terminal(SLUICE, "attach", "true", status=2).err, "no dashes")
    expect("not found" in terminal(SLUICE, "attach", "--", "no-such-program", status=2).err, "no program")
    expect("sluice cp RUN:FILE DEST" in terminal(SLUICE, "cp", "a.nc", status=2).err, "no destination")
    expect(terminal(SLUICE, "cp", "a.nc", "no/such/copy", status=3).err != "", "no directory")
    for command in ("ls", "cp", "attach"):
        expect("sluice " + command in terminal(SLUICE, command, "--help", status=0).out, command + " --help")
    allow("end")
    finish(process, 0)


def changes():
    """A program that is attached changes nothing that the run has, and the event log says what to do. Files that the run does not have are its own."""
    directly("write a.nc 5000")
    process = run("write a.nc 5000 await end", "until test -e end; do sleep 0.1; done\ncat a.nc > copy")
    published("a.nc")
    with open("change.py", "w") as file:
        file.write("""import errno, os
def fails(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return error.errno
assert fails(open, "a.nc", "r+b") == fails(open, "a.nc", "ab") == fails(open, "a.nc", "wb") == errno.EACCES
assert fails(os.truncate, "a.nc", 10) == fails(os.unlink, "a.nc") == fails(os.rename, "a.nc", "moved") == errno.EACCES
open("other", "w").write("text")
assert fails(os.rename, "other", "a.nc") == errno.EACCES and os.path.exists("other")
assert len(open("a.nc", "rb").read()) > 40000
with open("own.nc", "w") as file:
    file.write("first")
with open("own.nc", "a") as file:
    file.write(" second")
os.rename("own.nc", "own.again.nc")
""")
    terminal(SLUICE, "attach", "--", PYTHON, "change.py", status=0)
    expect("Permission denied" in terminal(SLUICE, "attach", "--", "sh", "-c", "rm -f a.nc || cp other a.nc", status=1).err, "rm and cp")
    expect(harness.is_logged("A program that is attached cannot change 'a.nc': it only looks at the run. Let it write to another name, or change a copy"), "no event")
    with open("own.again.nc") as file:
        expect(file.read() == "first second", "a file of its own")
    expect(not os.path.exists("a.nc"), "a.nc is on disk")
    allow("end")
    finish(process, 0)
    expect_same("copy", "a.nc")
    terminal("sh", "-c", "echo after > a.nc", status=0)


def kept():
    """A file whose memory was needed again is listed and copied from the disk, if it was kept there; other files are counted."""
    with open("reader.py", "w") as file:
        file.write("import os, time\nfor i in range(10):\n    open(f'a{i}.nc', 'rb').read()\n    open(f'b{i}.nc', 'rb').read()\n"
                   "open('all', 'w').close()\nwhile not os.path.exists('end'):\n    time.sleep(0.1)\n")
    with open("flow.yaml", "w") as flow:
        flow.write(f"""version: 1
name: flow
staging: {{prewarm: 0, memory: 4MiB, spill: none}}
components:
  model: {{command: {program} repeat 10 write a%d.nc 100000 write b%d.nc 100000, ranks: 2}}
  reader: {{command: {PYTHON} reader.py}}
files:
  - {{path: "a*.nc", writer: model, readers: [reader], keep: true}}
  - {{path: "b*.nc", writer: model, readers: [reader]}}
""")
    runs.append(harness.start(SLUICE, "run", "flow.yaml"))
    wait_for(lambda: os.path.exists("all") or runs[0].poll() is not None, "the reader")
    listed = terminal(SLUICE, "ls", status=0).out
    expect("more had been read" in listed, "ls does not count what is gone")
    name = next((line.split()[0] for line in listed.splitlines() if line.endswith("on disk")), None)
    expect(name is not None, "no file is only on disk")
    terminal(SLUICE, "cp", "flow:" + name, "copy", status=0)
    expect(terminal(SLUICE, "cp", "flow:" + name, ".", status=2).err, "a copy onto the file itself")
    allow("end")
    finish(runs[0], 0)
    directly("repeat 10 write a%d.nc 100000")
    expect_same("copy", name)
    expect_same(name, name)


def several_nodes():
    """At the coordinator's node."""
    process = run("write a.nc 1000 await end", "until test -e end; do sleep 0.1; done", environment={"SLUICE_VIRTUAL_NODES": "2"})
    line = published("a.nc")
    expect(line.endswith("in memory"), "the line: " + line)
    allow("end")
    finish(process, 0)


def ssh_here():
    """A real sshd for this test alone; the environment by which --via uses it."""
    if not shutil.which("sshd", path="/usr/sbin") or not shutil.which("ssh"):
        print("SKIPPED: there is no sshd (Debian's package openssh-server)")
        sys.exit(77)
    for key in ("host", "mine"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here = os.getcwd()
    with open("sshd_config", "w") as file:
        file.write(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {here}/host\nAuthorizedKeysFile {here}/mine.pub\nStrictModes no\nUsePAM no\nPidFile none\n"
                   "PermitRootLogin prohibit-password\n")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", here + "/sshd_config"], stdin=subprocess.DEVNULL, stderr=open("sshd.err", "w"))
    atexit.register(server.kill)
    wait_for(lambda: "listening" in open("sshd.err").read(), "sshd")
    return {"SLUICE_SSH": f"ssh -F none -p {port} -i {here}/mine -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile={here}/known"}


def via():
    """status, ls, cp and attach by ssh, as from a login node: in the same directory, with any words."""
    environment = ssh_here()
    directly("write a.nc 5000")
    process = run("write a.nc 5000 await end", "until test -e end; do sleep 0.1; done\ncat a.nc > copy.reader")
    published("a.nc")
    expect("in memory" in terminal(SLUICE, "ls", "flow", "--via", "127.0.0.1", environment=environment, status=0).out, "ls")
    expect("a.nc" in terminal(SLUICE, "status", "--via", "127.0.0.1", environment=environment, status=0).out, "status")
    terminal(SLUICE, "cp", "--via", "127.0.0.1", "flow:a.nc", "it's a copy", environment=environment, status=0)
    words = ["sh", "-c", 'cat "$1" > attached; echo "$2"', "sh", "a.nc", "--via it's $HOME"]
    expect(terminal(SLUICE, "attach", "--via", "127.0.0.1", "flow", "--", *words, environment=environment, status=0).out == "--via it's $HOME\n", "the words of a program")
    expect("'b.nc' is not published" in terminal(SLUICE, "cp", "--via", "127.0.0.1", "flow:b.nc", "no", environment=environment, status=2).err, "the status of the other host")
    for arguments, text in [(["--via"], "--via needs"), (["--via", "-oProxyCommand=touch mischief"], "--via needs"), (["--via", ""], "--via needs")]:
        expect(text in terminal(SLUICE, "status", *arguments, environment=environment, status=2).err, f"{arguments}")
    expect(not os.path.exists("mischief"), "an option of ssh in place of a host")
    expect("cannot start /nowhere/ssh" in terminal(SLUICE, "ls", "--via", "127.0.0.1", environment={"SLUICE_SSH": "/nowhere/ssh"}, status=3).err, "no ssh")
    expect("unrecognised option" in terminal(SLUICE, "check", "--via", "127.0.0.1", environment=environment, status=2).err, "a command that looks into no run")
    allow("end")
    finish(process, 0)
    for copy in "copy.reader", "it's a copy", "attached":
        expect_same(copy, "a.nc")


in_own_tmp()
clear_directory()
globals()[case]()
