#!/usr/bin/python3
"""mpich.py BUILD COUPLE COUPLE_MPICH CASE: programs of MPICH (COUPLE_MPICH) and of Open MPI (COUPLE), both couple.c, in one run."""
import os
import pathlib
import re
import shutil
import signal
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import call, clear_directory, descendants_named, expect, finish, have_in_environment, is_alive, wait_for, wait_for_event

build, open_mpi, mpich, case = sys.argv[1:5]
RULE = ("*.nc", "model", ["analysis"])


def write_flow(components, rules, *more):
    """components as {name: (program, ranks, arguments, *keys)}"""
    harness.write_flow("", {name: (ranks, f"{program} {arguments}", *keys) for name, (program, ranks, arguments, *keys) in components.items()}, rules, *more)


def start(*arguments, **options):
    return harness.start(build + "/bin/sluice", *(arguments or ("run",)), "flow.yaml", **options)


def run(status=0, **options):
    result = finish(start(**options), status)
    files = [str(path) for path in pathlib.Path(".").glob("*.nc")]
    expect(not files, f"files on the disk: {files}")
    return result


def launched_by(name):
    """The launcher of a component, as the event log has it."""
    log = next(pathlib.Path(".sluice").glob("*/events.log")).read_text()
    return re.search(rf"^\S+ {name} starts in [^:]*: (\S+)", log, re.MULTILINE)[1]


def writer():
    for writers, readers in [(1, 1), (3, 2), (2, 3)]:
        write_flow({"model": (mpich, writers, "write a.nc 100000 write b.nc 7"), "analysis": (open_mpi, readers, "read a.nc 100000 whole b.nc 7")}, [RULE])
        run()
    expect(launched_by("model") == "mpiexec.hydra" and launched_by("analysis") == "mpirun", "the launchers")


def reader():
    for writers, readers in [(1, 1), (3, 2), (2, 3)]:
        write_flow({"model": (open_mpi, writers, "write a.nc 100000 write b.nc 7"), "analysis": (mpich, readers, "halve a.nc 100000 whole b.nc 7")}, [RULE])
        run()


def both():
    write_flow({"model": (mpich, 3, "repeat 4 write a%d.nc 5000"), "analysis": (mpich, 2, "repeat 4 read a%d.nc 5000")}, [RULE])
    run()


def pipeline():
    write_flow({"one": (mpich, 2, "repeat 5 write a%d.nc 3000"), "two": (open_mpi, 3, "repeat 5 read a%d.nc 3000 write b%d.nc 500"),
                "three": (mpich, 2, "repeat 5 read b%d.nc 500 write c%d.nc 10"), "four": (open_mpi, 1, "repeat 5 read c%d.nc 10")},
               [("a*.nc", "one", ["two"]), ("b*.nc", "two", ["three"]), ("c*.nc", "three", ["four"])])
    run()


def serial():
    """Without a launcher: MPI's singleton."""
    write_flow({"model": (mpich, 0, "write a.nc 1000"), "analysis": (open_mpi, 2, "read a.nc 1000")}, [RULE])
    run()


def scripts():
    """A program that a shell or a script starts has the launcher of its MPI, too."""
    pathlib.Path("model.sh").write_text(f'#!/bin/sh\n# the model\nset -e\nexec {mpich} "$@"\n')
    os.chmod("model.sh", 0o755)
    write_flow({"model": ("./model.sh", 2, "write a.nc 1000"), "analysis": (open_mpi, 2, "read a.nc 1000")}, [RULE])
    run()
    write_flow({"model": (open_mpi, 2, "write a.nc 1000"), "analysis": ("env NOTHING=1 " + mpich, 3, "read a.nc 1000")}, [RULE])
    run()
    write_flow({"model": ("sh", 2, f'-c "exec {mpich} write a.nc 1000"'), "analysis": (open_mpi, 2, "read a.nc 1000")}, [RULE])
    run()
    # What no word names has its launcher from the user.
    os.symlink(mpich, "hidden")
    pathlib.Path("model.sh").write_text('#!/bin/sh\nname=hid\nexec ./${name}den "$@"\n')
    write_flow({"model": ("./model.sh", 2, "write a.nc 1000", "launcher: mpiexec.hydra"), "analysis": (open_mpi, 2, "read a.nc 1000")}, [RULE])
    run()


def check():
    write_flow({"model": (mpich, 2, "write a.nc 1"), "analysis": (open_mpi, 2, "read a.nc 1")}, [RULE])
    result = finish(start("check"), 0)
    expect(re.search(r"^  model .*\(linked with libsluice_pnetcdf_mpich\.so\.\d, MPICH\)$", result.out, re.MULTILINE), "the model's MPI")
    expect(re.search(r"^  analysis .*\(linked with libpnetcdf\.so\.\w+, Open MPI\)$", result.out, re.MULTILINE), "the analysis' MPI")
    expect("(Open MPI)" in result.out.splitlines()[0] and "HYDRA" in result.out.splitlines()[0], "the launchers")


def other_launcher():
    """Each rank would be rank 0 of 1, so such a run does not start."""
    write_flow({"model": (open_mpi, 2, "write a.nc 1000", "launcher: mpiexec.hydra"), "analysis": (mpich, 2, "read a.nc 1000")}, [RULE])
    for command in ("check", "run"):
        result = finish(start(command), 2)
        expect(re.search(r"flow.yaml:\d+:\d+: the program of component 'model' has Open MPI, but its launcher is MPICH's", result.err), command)
    only = pathlib.Path("only")
    only.mkdir()
    for name in ("mpirun", "sh", "env"):
        os.symlink(shutil.which(name), only / name)
    write_flow({"model": (mpich, 2, "write a.nc 1000"), "analysis": (open_mpi, 2, "read a.nc 1000")}, [RULE])
    result = finish(start(environment={"PATH": str(only.absolute())}), 2)
    expect("component 'model' has ranks, but mpiexec.hydra was not found" in result.err or "is not one of MPICH" in result.err, "a launcher that is missing")


def without_library():
    """A Sluice that was built without MPICH says so: before the run, and in a program that was not recognised."""
    for folder, names in [("bin", ["sluice", "sluice-matcher"]), ("lib", ["libsluice_pnetcdf.so", "libsluice_preload.so"])]:
        os.makedirs("alone/" + folder)
        for name in names:
            shutil.copy(f"{build}/{folder}/{name}", f"alone/{folder}")
    write_flow({"model": (mpich, 2, "write a.nc 1000"), "analysis": (open_mpi, 2, "read a.nc 1000")}, [RULE])
    result = call("alone/bin/sluice", "run", "flow.yaml", status=2)
    expect("has MPICH, but this Sluice was built without MPICH: install" in result.err, "before the run")
    os.symlink(mpich, "hidden")
    pathlib.Path("model.sh").write_text('#!/bin/sh\nname=hid\nexec ./${name}den "$@"\n')
    os.chmod("model.sh", 0o755)
    write_flow({"model": ("./model.sh", 1, "write a.nc 1000", "launcher: mpiexec.hydra"), "analysis": (open_mpi, 1, "missing a.nc")}, [RULE])
    result = call("alone/bin/sluice", "run", "flow.yaml")
    expect("has an MPI with MPICH's interface, but this Sluice has no libsluice_pnetcdf_mpich.so" in result.all, "in the program")


def abort():
    """A rank of the writer fails: its component ends, and the reader is told."""
    write_flow({"model": (mpich, 3, "exit 3"), "analysis": (open_mpi, 2, "missing a.nc")}, [RULE])
    expect(run(None).status in (3, 9), "the status of a rank, or of one that HYDRA killed for it")
    write_flow({"model": (mpich, 3, "half a.nc kill 9"), "analysis": (open_mpi, 2, "missing a.nc")}, [RULE])
    result = run(None)
    expect(result.status in (9, 1), "HYDRA's status for a signal, or that of a rank whose put failed before")


def killed():
    """Who kills the coordinator leaves nothing behind."""
    write_flow({"model": (mpich, 2, "await never"), "analysis": (mpich, 2, "read a.nc 1")}, [RULE])
    process = start()
    ranks = wait_for(lambda: (found := descendants_named("couple_mpich", process.pid)) and len(found) == 4 and found, "four ranks")
    proxies = descendants_named("hydra_pmi_proxy", process.pid) + descendants_named("mpiexec.hydra", process.pid)
    process.kill()
    process.wait()
    wait_for(lambda: not any(map(is_alive, ranks + proxies)), "the end of all processes")


def interrupted():
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        write_flow({"model": (mpich, 2, "await never"), "analysis": (open_mpi, 2, "read a.nc 1")}, [RULE])
        process = start()
        ranks = wait_for(lambda: (found := descendants_named("couple_mpich", process.pid)) and len(found) == 2 and found, "two ranks")
        process.send_signal(number)
        finish(process, status)
        expect(not any(map(is_alive, ranks)), "ranks are still running")
        shutil.rmtree(".sluice")


def lines():
    """The ranks' lines are whole, and marked with the component's name."""
    pathlib.Path("speak.sh").write_text("#!/bin/sh\nfor i in $(seq 50); do echo $PMI_RANK $(printf '%0200d' $i); done\n")
    os.chmod("speak.sh", 0o755)
    write_flow({"model": ("./speak.sh", 4, "", "launcher: mpiexec.hydra"), "analysis": (open_mpi, 1, "say done")}, [RULE])
    result = run()
    said = [line for line in result.out.splitlines() if line.startswith("[model] ")]
    expect(len(said) == 200 and all(re.fullmatch(r"\[model\] [0-3] \d{200}", line) for line in said), f"{len(said)} lines")


def ordinary_files():
    """The same program's files by both MPIs have the same bytes."""
    commands = "write a.nc 100000 write b.nc 1"
    for folder, launcher, program in (("open_mpi", ["mpirun", "--oversubscribe"], open_mpi), ("mpich", ["mpiexec.hydra"], mpich)):
        os.mkdir(folder)
        call(*launcher, "-n", "3", program, *commands.split(), status=0, cwd=folder)
    for name in ("a.nc", "b.nc"):
        expect(pathlib.Path("open_mpi", name).read_bytes() == pathlib.Path("mpich", name).read_bytes(), name + " differs")
    call("mpiexec.hydra", "-n", "2", mpich, *"read open_mpi/a.nc 100000".split(), status=0)
    call("mpirun", "-n", "2", "--oversubscribe", open_mpi, *"read mpich/a.nc 100000".split(), status=0)


def mpi_io():
    """All ranks write a file by MPI-IO. MPICH makes and closes it first: only the last close counts."""
    for program in (build + "/bin/raw_mpich", build + "/bin/raw_open_mpi"):
        with open("copy.sh", "w") as script:
            script.write("set -e\nfor i in 0 1 2; do cp raw$i.w copy$i; done\n")
        write_flow({"model": (program, 3, ""), "analysis": ("sh", 0, "copy.sh")}, [("*.w", "model", ["analysis"])])
        run()
        expect(not pathlib.Path("raw0.w").exists(), "raw0.w is on the disk")
        os.makedirs("direct", exist_ok=True)
        call("mpiexec.hydra", "-n", "3", build + "/bin/raw_mpich", status=0, cwd="direct")
        for i in range(3):
            expect(pathlib.Path(f"copy{i}").read_bytes() == pathlib.Path(f"direct/raw{i}.w").read_bytes(), f"raw{i}.w differs")


def mpi_io_on_disk():
    """The same with `through: file`: the ranks may be on several nodes."""
    with open("copy.sh", "w") as script:
        script.write("set -e\nfor i in 0 1 2; do cp raw$i.w copy$i; done\n")
    write_flow({"model": (build + "/bin/raw_mpich", 3, ""), "analysis": ("sh", 0, "copy.sh")}, [("*.w", "model", ["analysis"])])
    flow = pathlib.Path("flow.yaml").read_text()
    pathlib.Path("flow.yaml").write_text(flow.replace("writer: model", "through: file, writer: model"))
    run()
    for i in range(3):
        expect(pathlib.Path(f"copy{i}").read_bytes() == pathlib.Path(f"raw{i}.w").read_bytes(), f"raw{i}.w differs")


def python():
    """Python brings its MPI and its PnetCDF along when it imports them. Without mpi4py the user names the launcher."""
    script = "/usr/bin/python3 " + os.path.join(os.path.dirname(os.path.abspath(__file__)), "field.py")
    fields = [f"{script} mpi4py {build}/lib/field_open_mpi.so", f"{script} extension {build}/lib/field_mpich.so"]
    for i, keys in [(0, ("", "launcher: mpiexec.hydra")), (1, ("launcher: mpiexec.hydra", ""))]:
        write_flow({"model": (fields[i], 3, "write a.nc 100 3", keys[0]), "analysis": (fields[1 - i], 2, "read a.nc 300 2", keys[1])}, [RULE])
        run()
    result = finish(start("check"), 0)
    expect(re.search(r"^  analysis .*, Open MPI\)$", result.out, re.MULTILINE), "mpi4py's MPI")


def fortran():
    """field.f90 of tests/system/languages with our module and MPICH; field.cpp with Debian's PnetCDF and Open MPI."""
    programs = [build + "/bin/field_fortran_mpich", build + "/bin/field_cpp"]
    for writer, reader in programs, programs[::-1]:
        write_flow({"model": (writer, 3, "writer a.nc"), "analysis": (reader, 2, "reader a.nc")}, [RULE])
        run()


def call_mpich_ranks(*arguments, **options):
    """Two ranks of MPICH that fail by MPI_Abort: what they say goes to files, because HYDRA may lose their last output. Returns what they said."""
    shell = 'exec "$0" "$@" >said.$PMI_RANK 2>&1'
    result = call("mpiexec.hydra", "-n", "2", "sh", "-c", shell, mpich, *arguments, **options)
    expect(result.status != 0, "no failure")
    return "".join(path.read_text() for path in sorted(pathlib.Path(".").glob("said.*")))


def hdf5_blobs():
    """They need Open MPI's HDF5, which must not get into a process of MPICH."""
    hints = {"PNETCDF_HINTS": "sluice_layout=blob-process"}
    said = call_mpich_ranks(*"write a.nc 1000".split(), environment=hints)
    expect("this program has another MPI: use sluice_layout=blob" in said, f"the writers said: {said}")
    expect(not os.path.exists("a.nc"), "a file is left")
    call("mpirun", "--oversubscribe", "-n", "2", open_mpi, *"write a.nc 1000".split(), environment={"LD_PRELOAD": build + "/lib/libsluice_preload.so", **hints}, status=0)
    said = call_mpich_ranks(*"read a.nc 1000".split())
    expect("this program has another MPI" in said, f"the readers said: {said}")


clear_directory()
globals()[case]()
