#!/usr/bin/python3
"""meanwhile.py BUILD CASE: a name that a reader waits for comes to be by a link or by a rename, while the writer goes on. The reader gets it then, and not when the writer has ended."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, text

build, case = sys.argv[1:3]

# What the writer does before the reader waits, what it does then, what the reader does, and what it prints.
CASES = {
    "link": ("echo 1 > a.dat", "ln -s a.dat l.dat", "cat l.dat", "1\n"),
    "link_to_a_later_file": ("true", "ln -s a.dat l.dat; sleep 0.5; echo 1 > a.dat", "cat l.dat", "1\n"),
    "link_in_another_place": ("mkdir -p d/e; echo 1 > a.dat", "ln -s ../../a.dat d/e/l.dat", "cat d/e/l.dat", "1\n"),
    "link_that_is_renamed": ("echo 1 > a.dat; ln -s a.dat t", "mv -T t l.dat", "cat l.dat", "1\n"),
    "link_to_an_ordinary_file": ("echo 1 > y.txt", "ln -s y.txt l.dat", "cat l.dat", "1\n"),
    "renamed_link_to_an_ordinary_file": ("echo 1 > y.txt", "ln -s y.txt t; mv -T t l.dat", "cat l.dat", "1\n"),
    "directory_link": ("mkdir run1; echo 1 > run1/a.dat", "ln -s run1 latest", "cat latest/a.dat", "1\n"),
    "directory_link_that_changes": ("mkdir run1 run2; echo 0 > run1/b.dat; echo 1 > run2/a.dat; ln -s run1 latest", "ln -sfn run2 latest", "cat latest/a.dat", "1\n"),
    "facts_of_a_link": ("echo 1 > a.dat", "ln -s a.dat l.dat", "stat -c '%F %N' l.dat; stat -Lc '%F %s' l.dat", "symbolic link 'l.dat' -> 'a.dat'\nregular file 2\n"),
    "hard_link": ("echo 1 > a.dat", "ln a.dat l.dat", "cat l.dat", "1\n"),
    "rename": ("echo 1 > a.dat", "mv a.dat l.dat", "cat l.dat", "1\n"),
    "rename_from_disk": ("echo 1 > y.txt", "mv y.txt l.dat", "cat l.dat", "1\n"),
    "renamed_directory": ("mkdir t; echo 1 > t/a.dat", "mv t latest", "cat latest/a.dat", "1\n"),
    "renamed_directory_with_a_link": ("mkdir t; echo 1 > a.dat; ln -s ../a.dat t/l.dat", "mv t latest", "cat latest/l.dat", "1\n"),
}

clear_directory()
before, then, reads, expected = CASES[case]
with open("w.sh", "w") as file:
    # The reader is there, and has had time to wait; at the end it has got the file while this goes on.
    file.write(f"set -e\n{before}\nuntil test -e begun; do sleep 0.1; done\nsleep 0.5\n{then}\n"
               "for i in $(seq 600); do if test -e end; then exit 0; fi; sleep 0.1; done\nexit 1\n")
with open("r.sh", "w") as file:
    file.write(f"touch begun\n({reads}) > out 2>&1\ntouch end\n")
with open("flow.yaml", "w") as flow:
    flow.write("version: 1\nname: names\nstaging: {prewarm: 0}\ncomponents:\n  w: {command: sh w.sh}\n  r: {command: sh r.sh}\nfiles:\n  - {path: '*.dat', writer: w, readers: [r]}\n")
run = call(build + "/bin/sluice", "run", "--log-dir", "log", "flow.yaml", status=0)
expect(text("out") == expected, f"the reader has printed: {text('out')}")
expect("cannot open" not in run.all, "a name that became a link counts as one that never came")
