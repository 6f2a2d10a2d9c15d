#!/usr/bin/python3
"""unlucky.py BUILD CASE: what rarely happens to names and directories: a file that leaves the run between two closes, a working directory that is gone, an exchange with a directory, a shell that is killed."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import compared
from harness import clear_directory

build, case = sys.argv[1:3]
KINDS = {"memory": "", "exit": ", publish: exit", "keep": ", keep: true, publish: exit", "in place": ", through: file"}


def left_between_closes():
    """A file goes to the disk after its close, and a new one takes its name: nothing of the first one is lost when the writer ends."""
    for more in KINDS.values():
        clear_directory()
        compared.compare(build, r"""
seq 3 > a.dat; mv a.dat a.old; cp a.old a.dat; echo 4 >> a.dat; cat a.old a.dat
seq 3 > b.dat; ln b.dat b.old; cp --remove-destination a.dat b.dat; cat b.old b.dat
exec 3> c.dat; echo one >&3; mv c.dat c.old; echo two >&3; cp a.dat c.dat; exec 3>&-; cat c.old c.dat
cp --backup=numbered a.dat c.dat; cp --backup=numbered b.dat c.dat; head c.*; rm c.*~
""", r"""
head [abc].*
""", more)


def removed_directory():
    """No file is made in a working directory that has been removed, or by a descriptor of one; one that has another name by now is as good as before."""
    for more in KINDS.values():
        clear_directory()
        compared.compare(build, r"""
mkdir gone moved; (cd gone; rmdir ../gone; echo x > x.dat; echo x > ./y.dat; ls -A) 2>&1 | sed 's/.*line/line/'
(cd moved; mv ../moved ../here; echo x > x.dat; mv x.dat y.dat; cat ../here/y.dat)
/usr/bin/python3 - <<X
import os
os.mkdir('d'); fd = os.open('d', os.O_RDONLY); os.rmdir('d')
for name in ('x.dat', './x.dat'):
    try: os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=fd)
    except OSError as error: print(error.strerror)
X
""", r"""
find . -name '*.dat' | sort; cat here/y.dat
""", more)


EXCHANGE = r"""
/usr/bin/python3 - <<X
import ctypes, os
library = ctypes.CDLL(None, use_errno=True)
def exchange(one, other):
    status = library.renameat2(-100, one, -100, other, 2)
    return os.strerror(ctypes.get_errno()) if status else 'exchanged'
os.mkdir('d'); os.mkdir('empty')
open('d/q.dat', 'w').write('q'); open('a.dat', 'w').write('a'); open('b.dat', 'w').write('b'); open('text', 'w').write('t')
print(exchange(b'a.dat', b'b.dat'), exchange(b'empty', b'text'), exchange(b'a.dat', b'none.dat'))
for pair in ((b'a.dat', b'd'), (b'd', b'a.dat'), (b'd', b'text'), (b'text', b'd')): HOW(exchange(*pair))
print(open('a.dat').read(), open('b.dat').read(), open('d/q.dat').read())
X
"""


def exchanged_with_directory():
    """A directory with files of the run is exchanged with nothing, whichever is named first; nothing has changed then."""
    for more in KINDS.values():
        clear_directory()
        writes = EXCHANGE.replace("HOW(exchange(*pair))", "assert HOW")
        on_disk = "exchange(*pair) == 'exchanged' and exchange(*pair) == 'exchanged'"  # and back
        compared.compare(build, writes.replace("HOW", f"({on_disk}) if 'disk' in os.getcwd() else exchange(*pair) == 'Invalid argument'"), r"""
find . -name '*.dat' | sort; cat a.dat b.dat d/q.dat
""", more)


def killed_behind_a_redirection():
    """A shell ends a redirection by a descriptor that takes its place. What it has written is whole, although it is killed at once."""
    for more in ("", ", through: file"):
        for shell in ("bash", "dash"):
            clear_directory()
            compared.compare(build, "{ for i in 1 2 3 4; do SHELL -c \"echo one > a$i.dat; echo two > b$i.dat; kill -KILL \\$\\$\"; done; } 2> /dev/null; cat *.dat".replace("SHELL", shell), r"""
cat [ab]?.dat; ls *.dat
""", more)


def numbers_of_scripts():
    """A script names descriptors itself, which need not be low; with a limit, too."""
    clear_directory()
    compared.compare(build, r"""
bash -c 'exec 300> a.dat; echo a >&300; exec 301>&300; echo b >&301; exec 300>&-; echo c >&301; exec 301>&-; cat a.dat'
bash -c 'ulimit -n 800; exec 200> b.dat; flock 200; echo a >&200; exec 255>> c.dat; echo b >&255; cat b.dat c.dat; exec 200>&-; echo c > d.dat; cat d.dat'
(ulimit -n 24; for i in 1 2 3; do echo $i > e$i.dat; done; cat e?.dat)
""", r"""
cat [a-e]*.dat
""")


clear_directory()
globals()[case]()
