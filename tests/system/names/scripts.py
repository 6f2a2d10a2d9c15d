"""Cases of a writer's script and of what the reader reads at the end, each on disk and coupled: both have to see the same."""
import os
import subprocess
import sys
import time

sys.path.append(os.path.dirname(sys.path[0]))
import harness

# Calls whose results are printed; a failure is its errno's name.
PRELUDE = """
import ctypes, errno, os, sys, tempfile
libc = ctypes.CDLL(None, use_errno=True)
NOREPLACE, EXCHANGE = 1, 2
def rename2(old, new, flags):
    status = libc.renameat2(-100, old.encode(), -100, new.encode(), flags)
    return print(old, new, flags, 'done' if status == 0 else errno.errorcode[ctypes.get_errno()], flush=True)
def call(function, *arguments):
    try: print(function.__name__, *arguments, function(*arguments), flush=True)
    except OSError as error: print(function.__name__, *arguments, errno.errorcode[error.errno], flush=True)
def write(name, text):
    with open(name, 'w') as file: file.write(text)
def show(*names):
    for name in names:
        try: print(name, repr(open(name).read()), flush=True)
        except OSError as error: print(name, errno.errorcode[error.errno], flush=True)
def tree():
    for directory, below, files in os.walk('.'):
        if '.run' in below: below.remove('.run')
        print(directory, sorted(name for name in files if not name.startswith(('w.', 'r.', '.'))), flush=True)
"""


def prepare(directory, writes, reads):
    os.makedirs(directory)
    is_python = writes.startswith("#python\n")
    with open(directory + "/w.py", "w") as file:
        file.write(PRELUDE + writes if is_python else "")
    with open(directory + "/w.sh", "w") as file:
        file.write("/usr/bin/python3 w.py" if is_python else writes)
    with open(directory + "/r.sh", "w") as file:
        file.write(reads)
    os.mkdir(directory + "/.run")


def outputs(directory):
    found = []
    for name in ("w.out", "r.out"):
        with open(f"{directory}/{name}") as file:
            found.append(file.read())
    return found


# Root may do what permissions forbid; so it is an owner as others are.
AS_OWNER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]


def compare(build, number, name, writes, reads, keys, staging, prefix):
    began = time.monotonic()
    on_disk, coupled = f"disk{number}", f"coupled{number}"
    for directory in (on_disk, coupled):
        prepare(directory, writes, reads)
    for script in ("w", "r"):
        subprocess.run([*prefix, "sh", "-c", f"sh {script}.sh > {script}.out 2>&1"], cwd=on_disk)
    with open(coupled + "/.run/flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: names\nstaging: {{prewarm: 0{staging}}}\ncomponents:\n  w: {{directory: .., command: [sh, -c, 'sh w.sh > w.out 2>&1']}}\n  r: {{directory: .., command: [sh, -c, 'sh r.sh > r.out 2>&1; true'], start: when-done}}\n"
                   f"files:\n  - {{path: '*.dat', writer: w, readers: [r]{keys}}}\n  - {{path: 'out/*', writer: w, readers: [r]{keys}}}\n")
    result = harness.call(*prefix, build + "/bin/sluice", "run", "--log-dir", ".run/log", ".run/flow.yaml", cwd=coupled)
    expected, found = outputs(on_disk), outputs(coupled)
    print(f'{name}: {time.monotonic() - began:.1f} s')
    if expected == found and result.status == 0:
        return True
    print(f"--- {name}: exit status {result.status}\n--- on disk: {expected}\n--- coupled: {found}\n{result.all}")
    return False


def run(build, cases, keys="", only=(), staging="", prefix=()):
    """`cases`: {sentence: (writes, reads)}; a script that begins with a line #python is Python's. `only`: words of the cases to run; none: all."""
    failed = [name for number, (name, (writes, reads)) in enumerate(cases.items()) if all(words in name for words in only) and not compare(build, number, name, writes, reads, keys, staging, prefix)]
    harness.expect(not failed, f"{len(failed)} of {len(cases)} cases: " + "; ".join(failed))
