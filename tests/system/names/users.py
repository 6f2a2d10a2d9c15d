#!/usr/bin/python3
"""users.py BUILD VARIANT [CASE]: processes of a run of root that become other users: what they may do, and whose files are, has to be as on disk; as scripts.py. Needs root."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
import scripts
from harness import clear_directory, expect

build = sys.argv[1]
keys = {"memory": "", "kept": ", keep: true", "file": ", through: file"}[sys.argv[2]]
NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups"
OWNERS = "; stat -c '%n %u %g %a' *.dat out/*; "


def each(prefix, calls):
    """Each call by the prefix, with its status."""
    return "; ".join(f"{prefix} sh -c '{call}' 2> /dev/null; echo '{call}' $?" for call in calls)


FILES = "umask 022; mkdir out; chmod 777 out; echo 1 > out/root; chmod 640 out/root; echo 2 > out/all; chmod 666 out/all; echo 3 > a.dat; echo 4 > out/read; "
CALLS = ["cat out/root", "cat out/all", "cat out/read", "echo x >> out/root", "echo x >> out/all", "echo x >> out/read", "echo mine > out/mine", "chmod 600 out/mine", "cat out/mine", "echo more >> out/mine",
         "mv out/mine out/moved", "ln out/moved out/link", "rm -f out/link", "chmod 777 out/read", "echo b > b.dat", "mv out/moved b.dat", "mv a.dat out/a", "rm -f a.dat", "mv -f out/root out/taken", "touch out/touched",
         "test -w out/read", "test -r out/root", "cp out/all out/copy", "cat out/copy", "ls out", "cat out/none", "echo x > out/all", "rm -f out/read"]
STICKY = FILES + "chmod 1777 out; " + each(NOBODY, ["rm -f out/root", "mv out/read out/moved", "echo 1 > out/mine", "mv out/mine out/read", "mv -f out/mine out/other", "ln out/all out/more", "rm -f out/other", "echo x >> out/all"])
SERVER = """#python
os.mkdir('out'); os.chmod('out', 0o777)
write('a.dat', 'of root'); write('out/before', 'of root'); os.chmod('out/before', 0o600)
log = open('log.dat', 'w'); log.write('begun '); log.flush()
os.setgroups([]); os.setegid(65533); os.seteuid(65534)
log.write('dropped'); log.flush()
show('a.dat', 'log.dat', 'out/before')
call(write, 'out/after', 'of nobody'); call(write, 'a.dat', 'x'); call(write, 'b.dat', 'x'); call(os.unlink, 'a.dat'); call(os.chmod, 'a.dat', 0o777); call(os.rename, 'out/after', 'out/later')
os.chmod('out/later', 0o600); show('out/later')
log.close(); show('log.dat')
os.seteuid(0); os.setegid(0)
call(write, 'b.dat', 'of root again'); show('out/before', 'out/later'); call(os.unlink, 'out/before')
os.setgid(65533); os.setuid(65534)
call(write, 'out/last', 'of nobody'); call(os.unlink, 'b.dat'); show('b.dat', 'out/later'); tree()
"""

CASES = {
    "a process that becomes another user has the rights of that user": (FILES + each(NOBODY, CALLS) + OWNERS, "cat a.dat out/* 2>&1 | sort"),
    "a directory where all may make files, and remove their own": (STICKY + OWNERS, "cat out/* | sort"),
    "a server that drops its rights": (SERVER, "cat *.dat out/*; stat -c '%n %u %g %a' out/*"),
    "a shell of another user": (FILES + each("su -s /bin/sh nobody -c", []) + "su -s /bin/sh nobody -c 'cat out/all; echo mine > out/mine; id -un; cat out/mine; cat out/root' 2> /dev/null; echo $?" + OWNERS, "cat out/all out/mine"),
    "a group's files": (FILES + "chgrp 65533 out/root; " + each("setpriv --reuid=65534 --regid=65534 --groups=65533", ["cat out/root", "echo x >> out/root"]) + "; chmod 660 out/root; " +
                        each("setpriv --reuid=65534 --regid=65534 --groups=65533", ["echo x >> out/root", "cat out/root"]) + OWNERS, "cat out/root"),
}


def on_disk_at_the_end():
    """What is on disk after the run has its owner."""
    for number in range(len(CASES)):
        for directory, _, files in os.walk(f"coupled{number}"):
            for name in files:
                one, other = os.path.join(directory, name), os.path.join(directory.replace("coupled", "disk"), name)
                if "/." in one or not (name.endswith(".dat") or directory.endswith("/out")):
                    continue
                found, expected = os.lstat(one), os.lstat(other)
                expect((found.st_uid, found.st_gid, found.st_mode) == (expected.st_uid, expected.st_gid, expected.st_mode), f"{one} is of {found.st_uid}:{found.st_gid} {found.st_mode:o}, and not of {expected.st_uid}:{expected.st_gid} {expected.st_mode:o}")


def others():
    """Who was not started by the run finds no way in."""
    os.makedirs("others/.run")
    stranger = "setpriv --reuid=65532 --regid=65532 --clear-groups"
    with open("others/w.sh", "w") as script:
        script.write(f"echo 1 > a.dat\n{stranger} ls -d /tmp/.sluice-*.door > doors\n{stranger} ls /tmp/.sluice-*.door > way 2>&1\n{stranger} cat /proc/$$/environ >> way 2>&1\ncat /proc/net/unix >> way\necho $SLUICE_DOOR > door\n")
    with open("others/.run/flow.yaml", "w") as flow:
        flow.write("version: 1\nname: others\ncomponents:\n  w: {directory: .., command: sh w.sh}\n  r: {directory: .., command: cat a.dat}\nfiles:\n  - {path: '*.dat', writer: w, readers: [r]}\n")
    expect(harness.call(build + "/bin/sluice", "run", "--log-dir", ".run/log", ".run/flow.yaml", cwd="others").status == 0, "the run")
    door = os.path.dirname(harness.text("others/door").strip())
    expect(os.path.dirname(door) in harness.text("others/doors"), "the test looks at another place")
    expect(len(os.path.basename(door)) > 20 and os.path.basename(door) not in harness.text("others/way"), "a stranger finds the way")
    expect(not os.path.exists(os.path.dirname(door)), "it is left behind")


if os.geteuid() != 0:
    sys.exit(77)
clear_directory()
scripts.run(build, CASES, keys, sys.argv[3:])
if keys and not sys.argv[3:]:
    on_disk_at_the_end()
if not keys and not sys.argv[3:]:
    others()
