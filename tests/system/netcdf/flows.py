"""Workflows of a writer and a reader of one rule, by hyperslabs as is the default; the first argument of the test is the directory of the build."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import expect, finish, text

PYTHON = "/usr/bin/python3"
BYTES = "environment: {SLUICE_NETCDF: bytes}"
SLUICE = sys.argv[1] + "/bin/sluice"


def write_flow(writes, reads, rule="*.nc", more="", writer=None, reader=None, writer_key="", reader_key="", readers="[reader]"):
    """Two scripts for the shell, or `writer` and `reader`: commands with their ranks."""
    for name, lines in (("writer.sh", writes), ("reader.sh", reads)):
        with open(name, "w") as file:
            file.write("set -e\n" + lines + "\n")
    with open("flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", "name: test", f"staging: {{prewarm: 0, matchers: {os.environ.get('SLUICE_TEST_MATCHERS', 1)}}}", "components:", f"  writer: {{command: {writer or 'sh writer.sh'}, {writer_key}}}",
            f"  reader: {{command: {reader or 'sh reader.sh'}, {reader_key}}}", "files:", f'  - {{path: "{rule}", writer: writer, readers: {readers}{more}}}'
        ]) + "\n")


def run(status=0, **options):
    return finish(harness.start(SLUICE, "run", "flow.yaml", **options), status)


def script(name, lines):
    """The command of a Python program."""
    with open(name, "w") as file:
        file.write(lines)
    return f"{PYTHON} {name}"


def same_lines(own, on_disk, what):
    mine, theirs = text(own).splitlines(), text(on_disk).splitlines()
    for i, (line, other) in enumerate(zip(mine, theirs)):
        expect(line == other, f"{what}, line {i + 1}: {line}, and on disk: {other}; before: {theirs[max(0, i - 3):i]}")
    expect(len(mine) == len(theirs), f"{what}: {len(mine)} lines, and on disk {len(theirs)}")


OK_OF_FORTRAN = """contains
  subroutine ok(status)
    integer, intent(in) :: status
    if (status /= nf90_noerr) then
      print *, trim(nf90_strerror(status))
      stop 1
    end if
  end subroutine
end program
"""


def compile_model(program, compiler="gfortran"):
    """Makes `model` of a program of netCDF-Fortran without its end, which may call ok(status)."""
    with open("model.f90", "w") as file:
        file.write(program + OK_OF_FORTRAN)
    harness.call(compiler, "model.f90", "-I/usr/include", "-lnetcdff", "-lnetcdf", "-o", "model", status=0)
