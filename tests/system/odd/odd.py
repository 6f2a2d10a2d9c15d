#!/usr/bin/python3
"""odd.py BUILD CASE: odd workflows of real programs. The writer's script and the reader's run one after the other on disk, and coupled; both must print the same."""
import os
import shutil
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import compared
from harness import call, clear_directory, expect, text

build, case = sys.argv[1:3]


def compare(*scripts):
    return compared.compare(build, *scripts)


def facts(path):
    found = os.stat(path)
    return oct(found.st_mode), found.st_uid, found.st_gid, found.st_size


def kept_facts():
    """What programs set after the close (permissions, times, owner) is on the files that are kept, also where they had been kept before that."""
    compare(
        "echo a > early.dat; sleep 1; chmod 600 early.dat; touch -d 2001-01-01 early.dat\n"
        "echo b > late.dat; chmod 751 late.dat; touch -d 2002-02-02 late.dat\n"
        "echo c > s.txt; install -m 750 s.txt tool.dat; cp -p late.dat copy.dat\n"
        "echo d > group.dat; sleep 1; chgrp $(id -G | tr ' ' '\\n' | tail -1) group.dat\n"
        "echo e > moved.dat; sleep 1; mv moved.dat end.dat; chmod 640 end.dat; stat -c '%n %a' *.dat", "stat -c '%n %a' *.dat", ", keep: true")
    for name in ("early", "late", "tool", "copy", "group", "end"):
        expect(facts(f"disk/{name}.dat") == facts(f"coupled/{name}.dat"), f"{name}.dat: on disk {facts(f'disk/{name}.dat')}, kept {facts(f'coupled/{name}.dat')}")
    for name in ("early", "late", "copy"):
        expect(os.stat(f"disk/{name}.dat").st_mtime == os.stat(f"coupled/{name}.dat").st_mtime, f"the time of {name}.dat")


def kept_and_changed():
    """A kept file that somebody else has changed meanwhile stays as it is."""
    compare("echo a > a.dat; sleep 1; echo told > told.txt; env -u LD_PRELOAD sh -c 'test ! -e a.dat || echo other > a.dat'; chmod 600 a.dat; cat told.txt", "cat told.txt", ", keep: true")
    expect(text("coupled/a.dat") == "other\n" and os.stat("coupled/a.dat").st_mode & 0o777 == 0o644, "the file of another program was changed")


def programs():
    """A coupled file that may be run is run: by shells, with vfork, by posix_spawn and Python, as a script with any interpreter, and as machine code."""
    for shell in ("bash", "dash"):
        clear_directory()
        with_shell = f"cat > s.sh <<'X'\n" + """printf '#!/bin/sh\\necho ran $1 ${0##*/}\\n' > a.dat; ./a.dat; echo $?; chmod +x a.dat; ./a.dat x; "$PWD/a.dat" 2>&1 | wc -l; cp /bin/echo t.dat; ./t.dat hi there
printf '#!/usr/bin/env -S python3 -u\\nimport sys; print(sys.argv)\\n' > p.dat; chmod 755 p.dat; ./p.dat 1 '2 3'; printf 'echo plain $1\\n' > q.dat; chmod +x q.dat; ./q.dat 7
for i in 1 2 3; do ./a.dat $i >> all.dat; echo $i > f$i.dat; ./a.dat $i > g$i.dat; cat f$i.dat g$i.dat; done; exec 3> h.dat; echo x >&3; ./a.dat 4 >&3; echo y >&3; exec 3>&-; cat h.dat all.dat
test -x a.dat && echo may run; test -x h.dat || echo may not run; find . -executable -name '?.dat' | sort; ./missing.dat; echo $?; exec ./a.dat last""" + f"\nX\n{shell} s.sh 2> /dev/null"
        compare(
            with_shell, """test -x a.dat && ./a.dat r; ./t.dat q; cat all.dat
/usr/bin/python3 -c "
import os, subprocess
print(os.access('a.dat', os.X_OK), os.access('all.dat', os.X_OK))
print(subprocess.run(['./a.dat', 'sub'], capture_output=True).stdout, subprocess.run(['./t.dat', 'spawn'], close_fds=False, capture_output=True).stdout)
print(os.waitpid(os.posix_spawn('./t.dat', ['t', 'posix'], os.environ), 0)[1], os.waitpid(os.posix_spawnp('./a.dat', ['a', 'posix'], os.environ), 0)[1])
for name in ('./all.dat', './missing.txt'):
    try: subprocess.run([name])
    except OSError as error: print(error.errno)
\"""")


def kept_programs():
    """A program that is kept on disk, too, is run as it was written last."""
    compare("for i in 1 2 3; do printf '#!/bin/sh\\necho version '$i'\\n' > a.dat; ./a.dat; chmod +x a.dat; ./a.dat; sleep 0.3; ./a.dat; done 2> /dev/null", "./a.dat; test -x a.dat && sh a.dat", ", keep: true")


def walks():
    """Walks of the C library (nftw, ftw) find coupled files, with sizes, levels and in each order; statvfs answers for the directory."""
    source = os.path.join(sys.path[0], "walk.c")
    call("cc", "-w", "-o", "walk", source, status=0)
    compare(
        "mkdir sub; echo x > sub/x.txt; ln -s nowhere dangling; ln -s sub li; echo hello > a.dat; echo hi > b.dat; echo s > sub.dat; ../walk . a.dat b.dat sub sub.dat dangling li",
        "../walk . a.dat b.dat sub sub.dat dangling li; ../walk ./ a.dat b.dat sub.dat\n/usr/bin/python3 -c \"\nimport os\n"
        "a, b = os.statvfs(os.getcwd() + '/a.dat'), os.statvfs('.')\nprint(a.f_blocks == b.f_blocks, a.f_bsize == b.f_bsize)\"")


clear_directory()
globals()[case]()
