#!/usr/bin/python3
"""wrong_values.py BUILD CASE: what check says of values that have another form, and of words that a shell or another program would understand."""
import os
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect

build, case = sys.argv[1:3]


def check(words, reader="command: 'true'", rule="path: out.nc, writer: w, readers: [r]", top="", status=2):
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: t\n{top}components:\n  w: {{command: 'true'}}\n  r: {{{reader}}}\nfiles:\n  - {{{rule}}}\n")
    said = call(build + "/bin/sluice", "check", "flow.yaml", status=status).all
    expect((words[1:] not in said) if words.startswith("!") else (words in said), f"{words} in\n{said}")


def sizes():
    """A size of another form is told with the one that is meant."""
    for size, meant in (("8G", "8GiB"), ("8g", "8GiB"), ("512 mib", "512MiB"), ("1.5Gb", "1.5GiB"), ("2 terabytes", "2TiB"), ("8GiBs", "8GiB")):
        check(f"is '{size}': it must be '{meant}', or a number of bytes", top=f"staging: {{memory: {size}}}\n")
    for size in ("lots", "50%", "-1"):
        check(f"is '{size}': it must be a number of bytes", top=f"staging: {{memory: {size}}}\n")
    check("it must be a directory, auto or none", top="staging: {spill: true}\n")


def words():
    """A word that means a value elsewhere is told with the one of here."""
    files = "path: out.nc, writer: w, readers: [r]"
    check("'ram': did you mean 'memory'?", rule=files + ", through: ram")
    check("'disk': did you mean 'file'?", rule=files + ", through: disk")
    check("'yes': did you mean 'hyperslabs'?", rule=files + ", netcdf: yes")
    check("'slurm': did you mean 'srun'?", reader="command: 'true', ranks: 2, launcher: slurm")
    check("unknown key 'mode' in file rule 1: did you mean 'steps'?", rule=files + ", mode: newest")


def lists():
    """What is a list, a mapping or a text in the wrong place."""
    check("it must be a component's name: write a rule for each component that writes", rule="path: out.nc, writer: [w, r], readers: [r]")
    check("write a rule for each pattern", rule="path: [a.nc, b.nc], writer: w, readers: [r]")
    check("it must be a list of components, for example [r]", rule="path: out.nc, writer: w, readers: r")
    for text, words in (("components:\n  w: ls\nfiles: []\n", "as in {command: ls}"), ("components:\n  - {name: w, command: ls}\nfiles: []\n", "without '- ': model: {command: ./model}"),
                        ("components:\n  w: {command: ls}\nfiles:\n  path: a.nc\n", "it must be a list of file rules: begin each with '- '")):
        with open("flow.yaml", "w") as flow:
            flow.write("version: 1\nname: t\n" + text)
        said = call(build + "/bin/sluice", "check", "flow.yaml", status=2).all
        expect(words in said, f"{words} in\n{said}")
    with open("flow.yaml", "w") as flow:
        flow.write("mpirun -n 4 ./model\n")
    expect("'sluice init' writes a workflow file" in call(build + "/bin/sluice", "check", "flow.yaml", status=2).all, "another file")


def patterns():
    """Nothing expands a pattern in a command; a program that does it itself, a text of a shell and an option are left alone."""
    told = "no shell runs the command of component 'r', so its program gets"
    for command in ("cat *.nc", "cat wave_?.nc", "cat 'wave_{1..3}.nc'", "nice cat out/{a,b}.nc"):
        check(told, reader=f"command: \"{command}\"", status=0)
    for command in ("'sh -c \"cat *.nc\"'", "'find . -name *.nc'", "'/usr/bin/python3 -u *.nc'", "'grep a.*b a.txt'", "'cat a.nc'", "'sort --key *.nc'"):
        check("!" + told, reader=f"command: {command}", status=0)


def scripts():
    """A script that is not there is told before the run."""
    check("component 'r' runs 'plot.py', which is not in its directory", reader="command: /usr/bin/python3 -u plot.py a.nc", status=0)
    with open("plot.py", "w") as file:
        file.write("print(1)\n")
    check("!is not in its directory", reader="command: /usr/bin/python3 -u plot.py a.nc", status=0)
    check("!is not in its directory", reader="command: cat a.nc plot2.py", status=0)


def commands():
    """Words of other programs for commands of Sluice, and words that are too many."""
    for word, meant in (("version", "--version"), ("top", "status"), ("validate", "check"), ("start", "run")):
        said = call(build + "/bin/sluice", word, status=2).all
        expect(f"did you mean '{meant}'?" in said, said)
    expect("^C in the terminal of 'sluice run' ends it" in call(build + "/bin/sluice", "stop", status=2).all, "stop")
    expect("one workflow file is expected, and there are more words" in call(build + "/bin/sluice", "run", "a.yaml", "b", status=2).all, "two words")


clear_directory()
globals()[case]()
