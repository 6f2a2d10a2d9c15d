#!/usr/bin/python3
"""slips.py BUILD PROGRAM CASE: what `sluice check` and `sluice init` say of slips in commands, directories and numbers. PROGRAM is couple.c, which uses MPI."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect

build, program, case = sys.argv[1:4]
sluice = build + "/bin/sluice"


def script(name, text, mode=0o755):
    with open(name, "w") as file:
        file.write(text)
    os.chmod(name, mode)


def check(writer, text="", reader="command: 'true'", path="out.nc", staging="", status=0):
    """Whether `check` says the text of a writer with these keys, with this exit status; the whole of what it says."""
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\n{staging}\ncomponents:\n  w: {{{writer}}}\n  r: {{{reader}}}\nfiles:\n  - {{path: '{path}', writer: w, readers: [r]}}\n")
    told = call(sluice, "check", "flow.yaml", status=status).err
    expect(text in told, f"{writer}, {reader}: it does not say: {text}")
    return told


def copies():
    """A serial program with ranks is copies of one program, which write the same file; of programs that use MPI nothing is said."""
    script("serial.sh", "#!/bin/sh\necho hi > out.nc\n")
    script("serial.py", "print(1)\n")
    script("mpi.py", "#!/usr/bin/python3\nfrom mpi4py import MPI\n")
    words = "nothing shows that the program of component 'w' uses MPI: 'ranks: 3' starts it 3 times, and each copy reads and writes the same files"
    for command in ("sh serial.sh", "./serial.sh", "python3 serial.py", "'true'"):
        check(f"command: {command}, ranks: 3", words)
    for command in (program + " write out.nc 1", f"[sh, -c, '{program} write out.nc 1']", "./mpi.py", "python3 mpi.py", "[python3, -c, 'import mpi4py']"):
        expect("nothing shows" not in check(f"command: {command}, ranks: 3"), command)
    expect("nothing shows" not in check("command: ./serial.sh, ranks: 1") + check("command: ./serial.sh"), "one rank")


def launchers():
    """A launcher within a launcher is a mistake, one in a script is told, and so is one without ranks."""
    script("starts.sh", f"#!/bin/sh\n# by mpirun\nmpirun -n 2 {program} write out.nc 1\n")
    check(f"command: mpirun -n 2 {program}, ranks: 2", "contains mpirun, and the component has ranks: each of its 2 ranks would start mpirun anew", status=2)
    check("command: ./starts.sh, ranks: 2", "note: the script of component 'w' names mpirun, and the component has ranks")
    expect("names mpirun" not in check("command: ./starts.sh"), "a script without ranks")
    check(f"command: mpirun -n 2 {program}", "note: component 'w' starts its ranks by its own mpirun, so the number of its processes is not known")


def programs():
    """A program that is not found: in the directory, not executable, of a similar name."""
    script("run.sh", "#!/bin/sh\n", 0o644)
    script("plot.py", "", 0o644)
    script("model", "#!/bin/sh\n")
    check("command: model", "The component's directory has one: write ./model", status=2)
    check("command: run.sh", "The component's directory has such a file, which is not executable: run chmod +x run.sh and write ./run.sh, or name its interpreter, as in sh run.sh", status=2)
    check("command: ./plot.py", "is not executable: run chmod +x, or name the interpreter in 'command', as in python3 plot.py", status=2)
    check("command: ./modle", "modle' does not exist: did you mean 'model'?", status=2)


def directories():
    """Components in different directories name different files by one name; not where a command names the place, or the rule knows files by name."""
    for name in ("run", "post"):
        os.mkdir(name)
    words = ": one name is another file in each of them. Give both the same 'directory'"
    check("command: 'true', directory: run", words, "command: 'true', directory: post")
    check("command: 'true', directory: run", words)
    check("command: 'true'", words, "command: 'true', directory: post", "run/out.nc")
    for reader, path in (("command: 'true', directory: run", "out.nc"), ("command: 'true ../run/out.nc', directory: post", "out.nc"), ("command: 'true run/out.nc'", "out.nc"),
                         ("command: 'true'", "run/out.nc"), ("command: 'true', directory: post", "*.nc', identity: 'name")):
        expect(words not in check("command: 'true', directory: run", reader=reader, path=path), reader)


def memory():
    """More memory than any node has is a slip; more than this machine has may be meant."""
    words = "and this machine has "
    check("command: 'true'", words, staging="staging: {memory: 500000GiB}", status=2)
    for command in ("check", "run"):
        expect(words in call(sluice, command, "flow.yaml", status=2).err, command)
    with open("/proc/meminfo") as facts:
        kib = int(facts.readline().split()[1])
    check("command: 'true'", "note: staging.memory is ", staging=f"staging: {{memory: {2 * kib}KiB}}")


def commands_for_init():
    """`init` says what to give in place of a text that only a shell understands, and this is right."""
    script("model", "#!/bin/sh\necho $X > out.nc\n")
    os.mkdir("run")
    for command, words in (("X=1 ./model", "write env X=1 before the program"), ("cd run && ../model", "\"sh -c 'cd run && ../model'\""), ("./model | cat", "\"sh -c './model | cat'\""),
                           ("./model > log", "\"sh -c './model > log'\""), ("echo 'a' | cat", "write a script of it"), ("source x", "is a command of a shell"), ("~/model", "whole path"),
                           ("mpirun -n two ./model", "'two' behind -n is no number of ranks"), ("mpirun -n 1 ./model : -n 2 ./model", "several programs in one MPI_COMM_WORLD"),
                           ("model", "write ./model"), ("./modle", "did you mean 'model'?")):
        result = call(sluice, "init", "--force", command, status=2)
        expect(words in result.err and not os.path.exists("flow.yaml"), f"{command}: {result.err}")
    for command in ("env X=1 ./model", "sh -c 'cd run && ../model'", "sh -c './model | cat'"):
        call(sluice, "init", "--force", command, status=0)
        call(sluice, "check", "flow.yaml", status=0)


clear_directory()
globals()[case]()
