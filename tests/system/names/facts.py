#!/usr/bin/python3
"""facts.py BUILD VARIANT [CASE]: what programs are told of files of the run: permissions, numbers of names, and what walks and listings show, also by odd paths. Each
case is run on disk and coupled; as scripts.py."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import scripts
from harness import clear_directory

build = sys.argv[1]
keys = {"memory": "", "kept": ", keep: true", "file": ", through: file", "owner": ""}[sys.argv[2]]
prefix = scripts.AS_OWNER if sys.argv[2] == "owner" and os.geteuid() == 0 else ()

MODES = """#python
def tries(name):
    print(name, oct(os.stat(name).st_mode), [os.access(name, how) for how in (4, 2, 1)], flush=True)
    for mode in ('r', 'r+', 'a'):
        try: open(name, mode).close(); print(name, mode, 'done', flush=True)
        except OSError as error: print(name, mode, errno.errorcode[error.errno], flush=True)
for mode in (0o444, 0o400, 0o000, 0o200, 0o4755, 0o1644, 0o2750, 0o600, 0o111):
    name = 'm%o.dat' % mode
    file = os.open(name, os.O_CREAT | os.O_RDWR, mode)
    os.write(file, b'x')
    print(oct(os.fstat(file).st_mode), flush=True)
    tries(name)
    os.close(file)
    tries(name)
    os.chmod(name, mode ^ 0o022)
    tries(name)
    os.rename(name, 'n%o.dat' % mode)
    tries('n%o.dat' % mode)
"""
NAMES = """#python
def names(file): print(os.fstat(file).st_nlink, flush=True)
file = os.open('a.dat', os.O_CREAT | os.O_RDWR)
names(file)
for more in ('b.dat', 'c.dat'):
    os.link('a.dat', more)
    names(file)
os.rename('c.dat', 'd.dat')
names(file)
for name in ('a.dat', 'b.dat', 'd.dat'):
    os.unlink(name)
    names(file)
os.close(file)
write('e.dat', 'e')
file, other = os.open('e.dat', os.O_RDONLY), os.open('e.dat', os.O_RDONLY)
names(file)
os.rename('e.dat', 'f.dat')
names(file)
os.link('f.dat', 'g.dat')
names(file)
names(other)
write('h.dat', 'h')
os.replace('h.dat', 'f.dat')
names(file)
os.unlink('g.dat')
names(other)
print(os.read(file, 9), os.stat('f.dat').st_nlink, flush=True)
with tempfile.NamedTemporaryFile('w', dir='.', suffix='.dat') as temporary: names(temporary.fileno())
with open('i.dat', 'w') as file:
    os.rename('i.dat', 'j.dat')
    names(file.fileno())
    write('k.dat', 'k')
    os.rename('k.dat', 'j.dat')
    names(file.fileno())
show('f.dat', 'j.dat')
"""
WALK = """#python
os.makedirs('d/e')
for name in ('a.dat', 'd/b.dat', 'd/e/c.dat', 'd/e/x.txt'): write(name, name)
os.symlink('../d', 'd/e/up')
here, found = os.getcwd(), []
def note(path, facts, kind, place):
    path = os.fsdecode(path)
    if '/.' in path or path.endswith(('.py', '.sh', '.out')): return 0
    found.append((path, kind, place[0], place[1], os.path.exists(path[place[0]:]), os.path.relpath(os.getcwd(), here)))
    return 7 if path.endswith('stop.dat') else 0
function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_int))(note)
for flags in (4, 4 | 1, 4 | 8 | 1):
    for top in (b'.', b'd', b'./d', b'a.dat', b'none'):
        found.clear()
        print(flags, top, libc.nftw(top, function, 9, flags), sorted(found), os.getcwd() == here, flush=True)
write('d/stop.dat', '')
print(libc.nftw(b'd', function, 9, 4 | 1), os.getcwd() == here, flush=True)
"""
PATHS = """#python
os.makedirs('d/e')
write('a.dat', 'a')
write('d/b.dat', 'b')
for name in ('./a.dat', './/a.dat', 'd/../a.dat', 'd//..//a.dat', 'd/e/../../a.dat', 'd/./b.dat', 'd//b.dat', 'none/../a.dat', 'a.dat/../a.dat', 'a.dat/', 'a.dat/.', 'd/b.dat/../b.dat', './d/e/..//b.dat', 'c.dat/'):
    for function in (os.stat, os.lstat, os.path.exists):
        try: print(name, function(name).st_size if function != os.path.exists else function(name), flush=True)
        except OSError as error: print(name, errno.errorcode[error.errno], flush=True)
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_CREAT | os.O_APPEND, os.O_CREAT | os.O_EXCL | os.O_RDWR):
        try:
            file = os.open(name, flags)
            print(name, flags, 'done', os.write(file, b'x') if flags else '', flush=True)
            os.close(file)
        except OSError as error: print(name, flags, errno.errorcode[error.errno], flush=True)
for pair in (('d//b.dat', 'd/e/..//c.dat'), ('d/e/../c.dat', './/b.dat'), ('a.dat', 'd/../a.dat'), ('a.dat', './none/../z.dat'), ('none/../a.dat', 'z.dat')): call(os.rename, *pair)
for name in ('none/../a.dat', 'd/../a.dat'): call(os.unlink, name)
tree()
"""

TAKEN = """#python
def names(file): print(os.fstat(file).st_nlink, flush=True)
file = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o644)
names(file)
call(libc.linkat, -100, b'/proc/self/fd/%d' % file, -100, b'a.dat', 0x400)
names(file)
os.write(file, b'one ')
other = os.open('a.dat', os.O_RDWR)
names(other)
for name in ('b.dat', 'c.dat'):
    os.link('a.dat', name)
    names(file)
    names(other)
os.unlink('a.dat')
names(file)
os.rename('b.dat', 'd.dat')
names(other)
os.close(other)
os.write(file, b'two')
os.unlink('c.dat')
names(file)
os.close(file)
show('d.dat')
file = os.open('e.txt', os.O_CREAT | os.O_RDWR)
os.rename('e.txt', 'e.dat')
names(file)
os.unlink('e.dat')
names(file)
"""

CASES = {
    "files that come from the disk while they are open know their names": (TAKEN, "cat d.dat; ls *.dat"),
    "permissions are those that were given": (MODES, "stat -c '%n %a' *.dat; for file in *.dat; do test -r $file; echo $?; test -x $file; echo $?; done"),
    "programs that set permissions": ("umask 022; exec 3> a.dat; chmod 444 a.dat; echo 1 >&3; exec 3>&-; stat -c %a a.dat; test -w a.dat; echo $?; test -x a.dat; echo $?; chmod +x a.dat; test -x a.dat; echo $?; "
                                      "cp -p a.dat b.dat; stat -c %a b.dat; mv b.dat c.dat; stat -c %a c.dat; install -m 400 a.dat d.dat; stat -c %a d.dat; cat d.dat; chmod 4711 a.dat; stat -c %a a.dat; "
                                      "echo x > t.txt; chmod 444 t.txt; mv t.txt e.dat; stat -c %a e.dat; ln a.dat f.dat; chmod 1640 f.dat; stat -c %a a.dat", "stat -c '%n %a' *.dat; cat a.dat d.dat e.dat"),
    "descriptors know how many names a file has": (NAMES, "cat f.dat j.dat"),
    "a file that is opened to look at it gets one more name": ("echo 1 > a.dat; exec 3>> a.dat; ln a.dat b.dat; exec 3>&-; cat a.dat b.dat; test a.dat -ef b.dat; echo $?; ls *.dat", "cat b.dat a.dat; ls *.dat"),
    "names of one file stay its names however often it is written": ("mkdir -p e; echo 1 > a.dat; ln a.dat b.dat; ln b.dat c.dat; for i in 2 3 4 5; do echo $i > a.dat; echo $i >> b.dat; truncate -s 3 c.dat; cat b.dat; test a.dat -ef c.dat; echo $?; done; "
                                                                     "mv a.dat d.dat; for i in 6 7; do echo $i >> d.dat; echo $i > c.dat; cat b.dat d.dat; test b.dat -ef d.dat; echo $?; done", "cat b.dat c.dat d.dat"),
    "a large file keeps its permissions as programs go on in it": ("dd if=/dev/zero of=a.dat bs=1M count=3 2> /dev/null; chmod 1640 a.dat; for i in 1 2 3 4 5 6; do echo $i >> a.dat; stat -c '%a %s' a.dat; done", "stat -c '%a %s' a.dat; tail -c 6 a.dat"),
    "names stay in a directory that may not be changed": ("mkdir d e; echo 1 > d/a.dat; echo 2 > d/b.dat; chmod 555 d; for call in 'mv d/a.dat c.dat' 'mv d/a.dat c.txt' 'mv d/a.dat d/c.dat' 'rm -f d/a.dat' 'rm -f d/none.dat' 'mv d/none.dat c.dat' 'cp d/b.dat d/c.dat'; do "
                                                         "$call 2> /dev/null; echo $?; done; ls d; cat d/a.dat; mv d f; ls f; chmod 755 f; mv f/a.dat c.dat; rm f/b.dat; ls f; cat c.dat; ls *.dat", "cat c.dat; ls *.dat"),
    "an owner stays as the file is written again": ("echo 1 > a.dat; chown 1000:1001 a.dat; chmod 664 a.dat; echo 2 > a.dat; stat -c '%u %g %a' a.dat; echo 3 >> a.dat; stat -c '%u %g %a' a.dat; mv a.dat b.dat; ln b.dat c.dat; truncate -s 3 c.dat; stat -c '%u %g %a' b.dat; "
                                                    "cp -p b.dat e.dat; cp b.dat f.dat; stat -c '%u %g' c.dat e.dat f.dat", "stat -c '%n %u %g %a' *.dat"),
    "a walk goes into directories": (WALK, "cat d/b.dat"),
    "odd paths": (PATHS, "cat a.dat; ls *.dat"),
    "nothing of ours is in directories": ("for i in 1 2 3 4 5 6; do dd if=/dev/zero of=a$i.dat bs=1M count=8 2> /dev/null; ls -a | grep sluice; find . -name '*sluice*'; mv a$i.dat b$i.txt & ls -a | grep sluice; wait; "
                                          "python3 -c \"import os, glob; print([name for name in os.listdir('.') if 'sluice' in name], glob.glob('.*sluice*'), [each.name for each in os.scandir('.') if 'sluice' in each.name])\"; done", "ls -a | grep sluice; ls *.dat"),
}

clear_directory()
scripts.run(build, CASES, keys, sys.argv[3:], prefix=prefix)
