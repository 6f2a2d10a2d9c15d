#!/usr/bin/python3
"""names.py BUILD VARIANT [CASE]: what programs do with the names of files that they write by the C library. Each case is run on disk and coupled, by a rule with the
keys of VARIANT, and what the writer and the reader see has to be the same."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import scripts
from harness import clear_directory

build = sys.argv[1]
keys = {"memory": "", "kept": ", keep: true", "file": ", through: file", "exit": ", publish: exit"}[sys.argv[2]]

# Case: the writer's script, and what the reader reads at the end. A script that begins with a line #python is Python's.
CASES = {
    "a temporary file is renamed while it is open": ("#python\nwith tempfile.NamedTemporaryFile('w', dir='.', delete=False) as file:\n    file.write('hello')\n    os.replace(file.name, 'a.dat')\n    file.write(' world')\n",
                                                     "cat a.dat"),
    "a block renames its own output": ("{ echo a; mv t.tmp a.dat; echo b; } > t.tmp; cat a.dat", "cat a.dat"),
    "a file of the run is renamed while it is open": ("exec 3> a.dat; echo 1 >&3; mv a.dat c.dat; echo 2 >&3; test ! -e a.dat; exec 3>&-; cat c.dat; ls *.dat", "cat c.dat; cat a.dat"),
    "a file is renamed twice while it is open": ("exec 3> a.dat; echo 1 >&3; mv a.dat c.dat; echo 2 >&3; mv c.dat d.dat; echo 3 >&3; exec 3>&-; cat d.dat; ls *.dat", "cat d.dat"),
    "a file is renamed to itself by way of another name": ("exec 3> a.dat; echo 1 >&3; mv a.dat b.dat; mv b.dat a.dat; echo 2 >&3; exec 3>&-; ls *.dat", "cat a.dat"),
    "an old file is opened, renamed and appended to": ("echo 1 > a.dat; exec 3>> a.dat; mv a.dat b.dat; echo 2 >&3; exec 3>&-; cat b.dat; ls *.dat", "cat b.dat"),
    "an old file is opened to append, renamed, and closed as it was": ("echo 1 > a.dat; exec 3>> a.dat; mv a.dat b.dat; exec 3>&-; cat b.dat; ls *.dat", "cat b.dat"),
    "a file of the run leaves it while it is open": ("exec 3> a.dat; echo 1 >&3; mv a.dat b.txt; echo 2 >&3; exec 3>&-; cat b.txt; cp b.txt c.dat; ls *.dat *.txt", "cat c.dat b.txt"),
    "a file leaves the run and comes back": ("exec 3> a.dat; echo 1 >&3; mv a.dat b.txt; echo 2 >&3; exec 3>&-; mv b.txt c.dat; ls *.dat", "cat c.dat"),
    "a file that leaves the run keeps its permissions and time": ("echo 1 > a.dat; chmod 640 a.dat; touch -d '2001-02-03 04:05:06' a.dat; mv a.dat b.txt; stat -c '%a %y' b.txt; mv b.txt c.dat; stat -c '%a %y' c.dat",
                                                                 "stat -c '%a %y' c.dat"),
    "logs are rotated": ("echo old > a.dat; exec 3>> a.dat; echo 1 >&3; mv a.dat a.1.dat; echo late >&3; exec 3> a.dat; echo 2 >&3; exec 3>&-; cat a.1.dat a.dat", "cat a.1.dat a.dat"),
    "a file is renamed over one that is open": ("exec 3> a.dat; echo gone >&3; echo new > b.dat; mv b.dat a.dat; echo gone, too >&3; exec 3>&-; cat a.dat; ls *.dat", "cat a.dat"),
    "a file has its own name, otherwise spelled": ("#python\nos.mkdir('sub')\nwrite('a.dat', 'a')\nfor name in ('./a.dat', 'sub/../a.dat', os.path.abspath('a.dat')): call(os.rename, 'a.dat', name) if name[0] != '/' else os.rename('a.dat', name)\n"
                                                   "show('a.dat')\ncall(os.rename, 'none.dat', './none.dat')\n", "cat a.dat"),
    "renames that fail change nothing": ("#python\nos.mkdir('sub')\nwrite('a.dat', 'a')\nwrite('b.dat', 'b')\nwrite('c.txt', 'c')\n"
                                         "for pair in (('none.dat', 'a.dat'), ('none.txt', 'a.dat'), ('a.dat', 'none/x.dat'), ('a.dat', 'none/x.txt'), ('c.txt', 'none/x.dat'), ('a.dat', 'sub'), ('sub', 'a.dat'), ('none.dat', 'x.txt')):\n"
                                         "    call(os.rename, *pair)\nfor function in (os.rename, os.link): call(function, 'a.dat', 'y' * 252 + '.dat')\nshow('a.dat', 'b.dat', 'c.txt')\ntree()\n", "cat a.dat b.dat"),
    "links that fail change nothing": ("#python\nwrite('a.dat', 'a')\nwrite('b.dat', 'b')\nwrite('c.txt', 'c')\n"
                                       "for pair in (('a.dat', 'b.dat'), ('a.dat', 'c.txt'), ('c.txt', 'a.dat'), ('none.dat', 'x.dat'), ('none.dat', 'x.txt'), ('none.txt', 'x.dat'), ('a.dat', 'none/x.dat')): call(os.link, *pair)\n"
                                       "show('a.dat', 'b.dat', 'c.txt')\ntree()\n", "cat a.dat b.dat"),
    "a name that is there is not replaced": ("#python\nwrite('a.dat', 'a')\nwrite('b.dat', 'b')\nwrite('c.txt', 'c')\n"
                                             "for pair in (('a.dat', 'b.dat'), ('c.txt', 'b.dat'), ('a.dat', 'c.txt'), ('a.dat', 'd.dat'), ('c.txt', 'e.dat'), ('b.dat', 'f.txt'), ('none.dat', 'd.dat'), ('none.dat', 'x.dat')): rename2(*pair, NOREPLACE)\n"
                                             "show('a.dat', 'b.dat', 'c.txt', 'd.dat', 'e.dat', 'f.txt')\ntree()\n", "cat d.dat e.dat; cat a.dat b.dat"),
    "two files exchange their names": ("#python\nwrite('a.dat', 'a')\nwrite('b.dat', 'b')\nrename2('a.dat', 'b.dat', EXCHANGE)\nshow('a.dat', 'b.dat')\nrename2('a.dat', 'none.dat', EXCHANGE)\nrename2('none.dat', 'a.dat', EXCHANGE)\n"
                                       "write('c.dat', 'c')\nfile = open('d.dat', 'w')\nfile.write('d')\nfile.flush()\nrename2('c.dat', 'd.dat', EXCHANGE)\nfile.write(', and more')\nfile.close()\nshow('c.dat', 'd.dat')\ntree()\n",
                                       "cat a.dat b.dat c.dat d.dat"),
    "mv, with what it offers": ("echo a > a.dat; echo b > b.dat; mv -n a.dat b.dat 2> /dev/null; cat b.dat; touch -d 2001-01-01 a.dat; mv -u a.dat b.dat; cat b.dat; echo c > n.txt; mv -b n.txt b.dat; cat b.dat; echo d > n.txt; mv -f n.txt b.dat; ls *.dat; "
                                "mkdir sub; mv b.dat sub; mv -t sub a.dat; ls sub", "cat sub/a.dat sub/b.dat"),
    "a file has two names": ("exec 3> a.dat; echo 1 >&3; ln a.dat b.dat; echo 2 >&3; exec 3>&-; cat a.dat b.dat; ls *.dat", "cat a.dat b.dat"),
    "what is written by one name is in the other": ("echo 1 > a.dat; ln a.dat b.dat; echo 2 >> b.dat; cat a.dat b.dat; echo 3 >> a.dat; cat a.dat b.dat", "cat a.dat b.dat"),
    "one of two names is removed": ("echo 1 > a.dat; ln a.dat b.dat; rm a.dat; echo 2 >> b.dat; echo new > a.dat; cat a.dat b.dat; ls *.dat", "cat a.dat b.dat"),
    "one of two names is given to another file": ("echo 1 > a.dat; ln a.dat b.dat; echo new > c.dat; mv c.dat b.dat; echo 2 >> a.dat; cat a.dat b.dat; ls *.dat", "cat a.dat b.dat"),
    "a link and a removal rename a file that is open": ("exec 3> t.dat; echo 1 >&3; ln t.dat a.dat; rm t.dat; echo 2 >&3; exec 3>&-; cat a.dat; ls *.dat", "cat a.dat"),
    "a link and a removal bring a file": ("echo 1 > t.tmp; ln t.tmp a.dat; rm t.tmp; cat a.dat; ls", "cat a.dat"),
    "a file of the run has a name on disk, too": ("exec 3> a.dat; echo 1 >&3; ln a.dat b.txt; echo 2 >&3; exec 3>&-; cat a.dat b.txt", "cat a.dat b.txt"),
    "two names of one file are renamed to each other": ("echo 1 > a.dat; ln a.dat b.dat; python3 -c \"import os; os.rename('a.dat', 'b.dat')\"; ls *.dat; cat a.dat b.dat", "cat a.dat b.dat"),
    "a directory takes its files along": ("mkdir -p d/e/f; echo 1 > d/a.dat; echo 2 > d/e/b.dat; echo 3 > d/e/c.txt; echo 4 > d/e/f/d.dat; mv d g; cat g/a.dat g/e/b.dat g/e/c.txt g/e/f/d.dat; ls -R g; test ! -e d/a.dat; mkdir d; ls d",
                                         "cat g/a.dat g/e/b.dat g/e/f/d.dat; ls -R g"),
    "a directory is renamed while its file is open": ("mkdir d; exec 3> d/a.dat; echo 1 >&3; mv d e; echo 2 >&3; exec 3>&-; cat e/a.dat; echo 3 >> e/a.dat; cat e/a.dat; ls e", "cat e/a.dat"),
    "a directory is renamed twice": ("mkdir d; echo 1 > d/a.dat; mv d e; mv e d; cat d/a.dat; mkdir f; mv d f; cat f/d/a.dat; mv f g; cat g/d/a.dat", "cat g/d/a.dat"),
    "a directory is not renamed over one that has files": ("#python\nfor name in ('d', 'e', 'f'): os.mkdir(name)\nwrite('d/a.dat', 'd')\nwrite('e/a.dat', 'e')\nfor pair in (('d', 'e'), ('e', 'd'), ('d', 'd/x'), ('d', 'f')): call(os.rename, *pair)\n"
                                                           "show('d/a.dat', 'e/a.dat', 'f/a.dat')\nrename2('e', 'f', NOREPLACE)\ntree()\n", "cat e/a.dat f/a.dat"),
    "a directory gets a name that a rule names": ("mkdir t; echo 1 > t/x; echo 2 > t/y; mv t out; cat out/x out/y; ls out", "cat out/x out/y"),
    "a directory loses the name that a rule names": ("mkdir out; echo 1 > out/x; exec 3> out/y; echo 2 >&3; mv out t; echo 3 >&3; exec 3>&-; cat t/x t/y; cp t/y z.dat; ls t", "cat z.dat"),
    "a dangling link is renamed to a name of the run": ("echo 1 > a.dat; ln -s nowhere l; mv l a.dat; readlink a.dat; ls", "echo end"),
    "a name that a file of the run has is taken": ("#python\nwrite('a.dat', 'a')\nopen('o.dat', 'w').close()\nfile = open('b.dat', 'w')\nfor name in ('a.dat', 'b.dat'):\n    for function in (os.mkdir, os.mkfifo, os.mknod): call(function, name)\n"
                                                   "    call(os.symlink, 'x', name)\n    call(os.link, 'o.dat', name)\n    call(os.mkdir, name + '/')\nshow('a.dat', 'b.dat')\nfor function in (os.mkdir, os.mkfifo): call(function, 'new' + function.__name__ + '.dat')\ntree()\n", "cat a.dat"),
    "a directory with files of the run is not empty": ("#python\nos.mkdir('d')\nwrite('d/a.dat', 'a')\ncall(os.rmdir, 'd')\nprint(libc.remove(b'd'), errno.errorcode[ctypes.get_errno()])\ncall(os.unlink, 'd/a.dat')\ncall(os.unlink, 'd/a.dat')\ncall(os.unlink, 'never.dat')\ncall(os.remove, 'never.dat')\ncall(os.rmdir, 'd')\n"
                                                       "os.mkdir('e')\nfile = open('e/b.dat', 'w')\ncall(os.rmdir, 'e')\nfile.close()\ncall(os.rmdir, 'e')\ntree()\n", "cat e/b.dat"),
    "a file is made where its directory is": ("#python\nfor name in ('none/a.dat', 'none/sub/a.dat', 'w.py/a.dat'):\n    call(os.open, name, os.O_CREAT | os.O_WRONLY)\n    call(os.open, name, os.O_WRONLY)\n    call(os.open, name, os.O_RDONLY)\ncall(os.open, 'x' * 256 + '.dat', os.O_CREAT | os.O_WRONLY)\n"
                                              "os.mkdir('none')\nwrite('none/a.dat', 'a')\nshow('none/a.dat')\ntree()\n", "cat none/a.dat"),
    "temporary files of the C library": ("#python\nlibc.mkstemp.restype = libc.mkstemps.restype = libc.mkostemp.restype = libc.mkostemps.restype = ctypes.c_int\n"
                                         "for number, (function, arguments, end) in enumerate(((libc.mkstemp, (), ''), (libc.mkostemp, (os.O_APPEND,), ''), (libc.mkstemps, (4,), '.dat'), (libc.mkostemps, (4, os.O_CLOEXEC), '.dat'))):\n"
                                         "    os.makedirs('out', exist_ok=True)\n    name = ctypes.create_string_buffer(b'out/t_XXXXXX' + end.encode())\n    file = function(name, *arguments)\n    os.write(file, b'%d\\n' % number)\n    print(oct(os.fstat(file).st_mode), name.value[-4:] == b'.dat', 'XXXXXX' in name.value.decode())\n    os.close(file)\n    os.rename(name.value, f't{number}.dat')\n"
                                         "print(libc.mkstemp(ctypes.create_string_buffer(b'out/t.dat')), errno.errorcode[ctypes.get_errno()])\ntree()\n", "cat t0.dat t1.dat t2.dat t3.dat; ls out"),
    "a file is made by an open for reading": ("#python\nos.close(os.open('a.dat', os.O_RDONLY | os.O_CREAT))\nshow('a.dat')\nfirst = os.open('b.dat', os.O_RDONLY | os.O_CREAT | os.O_TRUNC)\nsecond = os.open(f'/proc/self/fd/{first}', os.O_WRONLY)\nos.write(second, b'1')\nos.close(first)\n"
                                              "import time\ntime.sleep(0.1)\nos.write(second, b'2')\nos.close(second)\nshow('b.dat')\nwrite('c.dat', 'c')\nos.close(os.open('c.dat', os.O_RDONLY | os.O_CREAT))\nshow('c.dat')\ncall(os.open, 'c.dat', os.O_RDONLY | os.O_CREAT | os.O_EXCL)\ntree()\n", "cat a.dat b.dat c.dat; ls *.dat"),
    "permissions go by the mask": ("umask 027; echo 1 > a.dat; (umask 077; echo 2 > b.dat); mkdir d; echo 3 > d/x.txt; chmod 640 b.dat; stat -c '%a %n' a.dat b.dat d d/x.txt", "stat -c '%a' a.dat b.dat; ls *.dat"),
    "names of 255 bytes": ("echo 1 > $(printf %0251d 0).dat; cat $(printf %0251d 0).dat; echo 2 > $(printf %0252d 0).dat; ls *.dat", "cat $(printf %0251d 0).dat"),
    "a program has a scheme of its own for names": ("for i in 1 2 3 4 5 6 7 8 9; do echo $i > a.dat.partial; mv a.dat.partial a.dat || echo lost; done; cat a.dat; ls", "cat a.dat"),
    "a reader makes files for itself": ("echo 1 > a.dat", "mkdir -p e; echo mine > e/a.dat; cat e/a.dat; echo more >> e/a.dat; cat e/a.dat a.dat"),
    "a link with a name of the run leads to an ordinary file": ("echo 2 > foo.txt; ln -s foo.txt a.dat; cat a.dat; ls", "cat a.dat"),
    "a file without a name gets one while it is written": ("#python\nfile = os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o644)\nos.write(file, b'one ')\n"
                                                           "print(libc.linkat(-100, b'/proc/self/fd/%d' % file, -100, b'a.dat', 0x400), flush=True)\nos.write(file, b'two')\nos.close(file)\nshow('a.dat')\ntree()\n", "cat a.dat; ls *.dat"),
    "a file gets one more name by its descriptor": ("#python\nfile = os.open('a.dat', os.O_CREAT | os.O_WRONLY, 0o640)\nos.write(file, b'one ')\nlink = b'/proc/self/fd/%d' % file\n"
                                                    "def give(source, directory, flags, name): print(name, libc.linkat(directory, source, -100, name, flags), errno.errorcode.get(ctypes.get_errno()), flush=True); ctypes.set_errno(0)\n"
                                                    "give(link, -100, 0x400, b'b.dat')\ngive(link, -100, 0x400, b'b.dat')\ngive(link, -100, 0x400, b'none/b.dat')\ngive(b'', file, 0x1000, b'c.dat')\n"
                                                    "print(os.fstat(file).st_nlink, os.stat('c.dat').st_nlink)\nos.unlink('a.dat')\nos.write(file, b'two')\ngive(link, -100, 0x400, b'd.dat')\nfor name in ('b.dat', 'c.dat', 'd.dat'): os.unlink(name)\n"
                                                    "give(link, -100, 0x400, b'e.dat')\nos.close(file)\nwrite('f.dat', 'f')\nfile = os.open('f.dat', os.O_RDONLY)\nlink = b'/proc/self/fd/%d' % file\ngive(link, -100, 0x400, b'g.dat')\ngive(link, -100, 0x400, b'x.txt')\nshow('g.dat', 'x.txt')\ntree()\n",
                                                    "cat f.dat g.dat; ls *.dat"),
    "a file on disk gets a name of the run while it is written": ("exec 3> x.txt; echo 1 >&3; ln x.txt a.dat; echo 2 >&3; exec 3>&-; cat x.txt a.dat; ln a.dat x.txt; ln x.txt a.dat; true", "cat x.txt a.dat; ls *.dat"),
    "what is to be new is not made behind a link": ("#python\nos.symlink('x.txt', 'l.dat')\nos.symlink('b.dat', 'm.dat')\nos.symlink('none/b.dat', 'n.dat')\nwrite('b.dat', 'b')\nos.symlink('o.dat', 'o.dat')\ncall(open, 'n.dat', 'w')\ncall(open, 'o.dat', 'w')\ncall(open, 'o.dat')\ncall(open, 'o.dat', 'r+')\nos.unlink('o.dat')\n"
                                                    "for name in ('l.dat', 'm.dat', 'n.dat'):\n    for flags in (os.O_CREAT | os.O_EXCL | os.O_WRONLY, os.O_NOFOLLOW, os.O_NOFOLLOW | os.O_WRONLY | os.O_CREAT): call(os.open, name, flags)\n"
                                                    "    call(open, name, 'x')\n    print(libc.fopen(name.encode(), b'wx'), flush=True)\nshow('b.dat')\ntree()\n", "cat b.dat; ls *.dat"),
    "a file is no directory": ("#python\nimport socket\nos.mkdir('d')\nwrite('a.dat', 'a')\nwrite('d/b.dat', 'b')\nfor file in ('a.dat', 'd/b.dat'):\n"
                               "    for function in (os.stat, os.lstat, os.listdir, os.rmdir, os.chdir, os.readlink, os.unlink): call(function, file + '/x' if function is not os.rmdir else file)\n"
                               "    for name in (file + '/', file + '/x', file + '/x.dat', file + '/x/y'):\n"
                               "        for function in (open, os.stat, os.mkdir, os.mkfifo, os.unlink): call(function, name)\n"
                               "        call(open, name, 'w') if name[-1] != '/' else None\n"
                               "        call(os.truncate, name, 3)\n        call(os.chmod, name, 0o600)\n        call(os.rename, name, 'c.dat')\n        call(os.link, name, 'c.txt')\n"
                               "    call(os.listdir, file)\n    call(os.chdir, file)\n    call(os.rename, 'd', 'd')\n    call(os.rename, 'd', file + '/x')\n    call(os.stat, file + '.none/x')\n    call(os.stat, 'none' + file + '/x')\nshow('a.dat', 'd/b.dat')\ntree()\n", "cat a.dat d/b.dat"),
    "the names of a file are counted": ("#python\ndef names(*all):\n    for name in all: print(name, os.stat(name).st_nlink, os.lstat(name).st_nlink, flush=True)\n"
                                        "write('a.dat', 'a')\nnames('a.dat')\nos.link('a.dat', 'b.dat')\nnames('a.dat', 'b.dat')\nos.link('b.dat', 'c.dat')\nnames('a.dat', 'b.dat', 'c.dat')\nwith open('c.dat', 'a') as file:\n"
                                        "    file.write('b')\n    file.flush()\n    names('a.dat', 'b.dat', 'c.dat')\nos.rename('c.dat', 'd.dat')\nnames('a.dat', 'd.dat')\nos.unlink('a.dat')\nnames('b.dat', 'd.dat')\nwrite('e.dat', 'e')\n"
                                        "os.replace('e.dat', 'd.dat')\nnames('b.dat', 'd.dat')\nshow('b.dat', 'd.dat')\n", "cat b.dat d.dat; ls *.dat"),
    "two names of one file are one to programs": ("echo 1 > a.dat; ln a.dat b.dat; test a.dat -ef b.dat; echo $?; cp a.dat b.dat; mv a.dat b.dat; ls *.dat; cat b.dat", "cat b.dat; ls *.dat"),
    "a stream that is opened again writes what it holds back": ("#python\nfor name in ('fopen', 'freopen'): getattr(libc, name).restype = ctypes.c_void_p\nstream = lambda: ctypes.c_void_p(libc.fopen(b'a.dat', b'w'))\nwrite('b.dat', 'b')\n"
                                                                "for name, mode in ((b'b.dat', b'wx'), (b'none/b.dat', b'w'), (b'a.dat', b'w'), (b'a.dat', b'a'), (b'c.dat', b'w'), (b'none.dat', b'r')):\n"
                                                                "    opened = stream()\n    libc.fwrite(b'before', 1, 6, opened)\n    other = libc.freopen(name, mode, opened)\n"
                                                                "    if other: libc.fputs(b'behind', ctypes.c_void_p(other)); libc.fclose(ctypes.c_void_p(other))\n    print(name, mode, other is None)\n    show('a.dat', 'b.dat', 'c.dat')\n", "cat a.dat b.dat c.dat"),
    "a walk shows files of the run": ("#python\nos.makedirs('d/e')\nwrite('a.dat', 'a')\nwrite('d/b.dat', 'bb')\nwrite('d/e/x.txt', 'x')\nos.symlink('../d', 'd/e/up')\nos.symlink('nowhere', 'd/none')\n"
                                      "for flags in (0, 1, 1 | 8, 8, 16 | 1):\n    found = []\n    def note(path, facts, kind, place):\n        path = os.fsdecode(path)\n"
                                      "        if '/.' in path or path.endswith(('.py', '.sh', '.out')): return 0\n        found.append((path, kind, place[0], place[1], os.path.exists(path[place[0]:]) if flags & 4 else None))\n"
                                      "        return 2 if flags & 16 and path.endswith('/e') else 0\n    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_int))(note)\n"
                                      "    print(flags, libc.nftw(b'.', function, 9, flags), sorted(found), flush=True)\n    found.clear()\n    print(libc.nftw(b'./d/', function, 9, flags), sorted(found), libc.nftw(b'a.dat', function, 9, flags), found[-1], libc.nftw(b'z.dat', function, 9, flags), flush=True)\n"
                                      "function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int)(lambda path, facts, kind: found.append((path, kind)) or 7 * path.endswith(b'b.dat'))\n"
                                      "found = []\nprint(libc.ftw(b'd', function, 9), libc.ftw(b'd/e', function, 9), found[-1][1] < 9, flush=True)\n", "cat a.dat d/b.dat"),
    "a link leads to a file that no rule covers": ("echo 5 > y.txt; ln -s y.txt m.dat; ln -s x.txt l.dat; echo 6 > m.dat; echo 1 > l.dat; cat y.txt x.txt; echo 2 >> l.dat; echo 3 >> x.txt; cat x.txt l.dat; stat -c '%n %s %F' m.dat l.dat x.txt; ls",
                                                   "cat m.dat l.dat x.txt"),
    "a socket takes no file's name": ("#python\nimport socket\nwrite('a.dat', 'a')\nfor name in ('a.dat', 'b.sock'): call(socket.socket(socket.AF_UNIX).bind, name)\nshow('a.dat')\ntree()\n", "cat a.dat"),
    "a mode is the one that was given, whatever is on disk": ("echo 1 > a.dat; chmod 640 a.dat; exec 3>> a.dat; ln a.dat x.txt; stat -c %A a.dat; chmod 600 a.dat; echo 2 >&3; exec 3>&-; cat x.txt; stat -c %A a.dat", "cat a.dat"),
}

clear_directory()
scripts.run(build, CASES, keys, sys.argv[3:])
