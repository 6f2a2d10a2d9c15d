#!/usr/bin/python3
"""parts.py BUILD PROGRAM CASE: a run tells its user who has read a part of a file because its writer closed it more than once, and which key is right. PROGRAM is couple.c."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import MPIRUN, call, clear_directory, expect, script, text

build, program, case = sys.argv[1:4]
sluice = build + "/bin/sluice"


def await_file(name):
    return f"until test -e {name}; do sleep 0.05; done\n"


def run(writes, reads, more="", rule="*.nc"):
    """The run's output; its status is 0."""
    script("writer.sh", writes)
    script("reader.sh", reads)
    with open("flow.yaml", "w") as flow:
        flow.write("version: 1\nname: test\nstaging: {prewarm: 0}\ncomponents:\n  writer: {command: ./writer.sh}\n  reader: {command: ./reader.sh}\n"
                   f'files:\n  - {{path: "{rule}", writer: writer, readers: [reader]{more}}}\n')
    return call(sluice, "run", "flow.yaml", status=0).all


def parts():
    """The advice is right: with it, the reader gets the whole."""
    writes = "echo one > a.nc\n" + await_file("read") + "echo two >> a.nc\necho three >> a.nc"
    told = run(writes, "cat a.nc > copy\ntouch read")
    expect(text("copy") == "one\n", "the reader has not read a part")
    expect("has closed it 2 times now" in told and "'publish: close:2' if it closes each file so often, or 'publish: exit'" in told, "the event at the time")
    expect("warning: 'reader' has read only a part of 'a.nc': its writer writer has gone on in it afterwards, and has closed it 3 times in all" in told, "the warning")
    expect("add 'publish: close:3' to the rule '*.nc' (line 8 of flow.yaml), or 'publish: exit' where that number changes" in told, "the advice")
    summary = [os.path.join(".sluice", name, "summary.txt") for name in os.listdir(".sluice")]
    expect("has read only a part of 'a.nc'" in text(summary[0]), "the summary")
    for key in ("close:3", "exit"):
        told = run(writes.replace(await_file("read"), ""), "cat a.nc > copy", f", publish: {key}")
        expect(text("copy") == "one\ntwo\nthree\n" and "a part" not in told, "publish: " + key)


def parts_of_several():
    """Where the numbers differ, one key is right. What opens a file just to look counts, as it does for the key."""
    look = "python3 -c \"open('{0}', 'r+').close()\"\n"
    writes = "".join(f"echo one > {name}\n" for name in ("a.nc", "b.nc")) + await_file("read") + look.format("a.nc") + "echo two >> a.nc\necho two >> b.nc"
    told = run(writes, "cat a.nc b.nc > copy\ntouch read")
    expect("'reader' has read only a part of 'a.nc' and 1 more file:" in told, "the files")
    expect("add 'publish: exit' to the rule" in told and "times in all" not in told, "the key")
    clear_directory()
    told = run("echo one > a.nc\n" + await_file("read") + look.format("a.nc") + "echo two >> a.nc", "cat a.nc > copy\ntouch read")
    expect("closed it 3 times in all" in told and "add 'publish: close:3'" in told, "a look counts")
    told = run("echo one > a.nc\n" + look.format("a.nc") + "echo two >> a.nc", "cat a.nc > copy", ", publish: close:3")
    expect(text("copy") == "one\ntwo\n" and "a part" not in told, "the advice")


def whole():
    """Nobody is told of a part who has read the whole later, who asked for parts, or who reads his own file; nor where the file was made anew."""
    writes = "echo one > a.nc\ncat a.nc\n" + await_file("read") + "{} a.nc\ntouch written"
    again = "cat a.nc > copy\ntouch read\n" + await_file("written") + "cat a.nc > copy"
    once = "cat a.nc > copy\ntouch read"
    append = "echo two >>"
    for reads, change, key in ((again, append, ""), (once, append, ", steps: stream"), (once, "echo two >", ""), (again, append, ", keep: true"), (once.replace("cat a.nc > copy", "true"), append, "")):
        clear_directory()
        told = run(writes.format(change), reads, key)
        expect("has read only a part" not in told, f"{change}, {reads}{key}: a warning")
    clear_directory()
    told = run(writes.format(append), again.replace(await_file("written") + "cat a.nc > copy", "exit 0"), ", keep: true")
    expect("'reader' has read only a part of 'a.nc'" in told, "no warning")


def part_in_place():
    """The same where files are on disk."""
    writes = "echo one > a.nc\n" + await_file("read") + "echo two >> a.nc"
    told = run(writes, "cat a.nc > copy\ntouch read", ", through: file")
    expect("'reader' has read only a part of 'a.nc'" in told and "add 'publish: close:2'" in told, "the warning")


def trial_of_parts():
    """`sluice init --trial` sees how often files are closed, and writes the key."""
    script("writer.sh", """echo one > a.nc
{ echo two; sh -c 'echo three >> a.nc'; echo four; } >> a.nc
echo one > once.nc
python3 -c "
with open('h.dat', 'wb') as file: file.write(b'one')
for i in range(20):
    with open('h.dat', 'ab') as file: file.write(b'more')
"
for i in 1 2; do echo $i > step_$i.txt; done
echo more >> step_2.txt""")
    script("reader.sh", "cat a.nc once.nc h.dat step_1.txt step_2.txt > copy\ntest ! -e copies || touch never\n")
    call(sluice, "init", "--trial", "./writer.sh", "./reader.sh", status=0)
    flow = text("flow.yaml")
    rules = {rule.split('"')[0]: rule for rule in flow.split('- path: "')[1:]}
    expect("publish: close:2  # writer opened a file again, and closed it 2 times" in rules["a.nc"], "a.nc: " + rules["a.nc"])
    expect("publish" not in rules["once.nc"], "once.nc: " + rules["once.nc"])
    expect("publish: exit  # writer opened a file again, and closed it 21 times" in rules["h.dat"], "h.dat: " + rules["h.dat"])
    expect("publish: exit  # writer opened a file again, and closed it several times" in rules["step_*.txt"], "step_*.txt")
    before = text("copy")
    for name in ("a.nc", "once.nc", "h.dat", "step_1.txt", "step_2.txt", "copy"):
        os.remove(name)
    told = call(sluice, "run", "flow.yaml", status=0).all
    expect(text("copy") == before and "a part" not in told, "the run gave other bytes than the trial")


clear_directory()
globals()[case]()
