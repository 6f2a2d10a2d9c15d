#!/usr/bin/python3
"""loaded_libraries.py BUILD CASE: libraries that a program loads by itself see coupled files, or the event log says that they do not."""
import os
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish

build, case = sys.argv[1:3]

LIBRARY = """
#include <stdio.h>
int write_file(const char* name, const char* text) {
  FILE* file = fopen(name, "w");
  return file == NULL || fputs(text, file) < 0 || fclose(file) != 0;
}
int read_file(const char* name, const char* text) {
  char line[20] = "";
  FILE* file = fopen(name, "r");
  return file == NULL || fgets(line, sizeof line, file) == NULL || fprintf(stdout, "%s", line) < 0;
}
"""

# Of the two libraries only the one in the middle has a RUNPATH, so only its own calls find the library.
MIDDLE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int (*find(const char* function, int is_apart))(const char*, const char*) {
  void* library = is_apart ? dlmopen(LM_ID_NEWLM, "libinner.so", RTLD_NOW) : dlopen("libinner.so", RTLD_NOW | RTLD_DEEPBIND);
  if (library == NULL) { puts(dlerror()); return NULL; }
  return (int (*)(const char*, const char*))dlsym(library, function);
}
"""

PROGRAM = """
#include <string.h>
int (*find(const char* function, int is_apart))(const char*, const char*);
int main(int count, char** words) {
  int (*call)(const char*, const char*) = count > 2 ? find(words[1], strcmp(words[2], "apart") == 0) : NULL;
  return call == NULL ? 3 : call(words[3], "data\\n");
}
"""


def compile_source(output, text, *options):
    with open(output + ".c", "w") as source:
        source.write(text)
    subprocess.run(["cc", "-O1", "-Wall", *options, "-o", output, output + ".c", "-ldl"], check=True)


def compile_all():
    os.mkdir("inner")
    compile_source("inner/libinner.so", LIBRARY, "-shared", "-fPIC")
    compile_source("libmiddle.so", MIDDLE, "-shared", "-fPIC", "-Wl,--enable-new-dtags,-rpath," + os.path.abspath("inner"))
    subprocess.run(["cc", "-Wall", "-o", "program", "-x", "c", "-", "-L.", "-lmiddle", "-Wl,--enable-new-dtags,-rpath," + os.getcwd()], input=PROGRAM, text=True, check=True)


def run(writes, reads):
    with open("flow.yaml", "w") as flow:
        flow.write(f"version: 1\nname: guests\nstaging: {{prewarm: 0}}\ncomponents:\n  w: {{command: [sh, -c, '{writes}']}}\n  r: {{command: [sh, -c, '{reads}']}}\nfiles:\n  - {{path: '*.dat', writer: w, readers: [r]}}\n")
    finish(harness.start(build + "/bin/sluice", "run", "--log-dir", "log", "flow.yaml"), 0)
    return "".join(open(os.path.join("log", name)).read() for name in os.listdir("log") if os.path.isfile(os.path.join("log", name)))


def deepbind():
    """A library that is loaded with RTLD_DEEPBIND writes and reads coupled files, and is found where its own caller looks."""
    compile_all()
    log = run("./program write_file deep a.dat", "./program read_file deep a.dat > read")
    expect(open("read").read() == "data\n" and not os.path.exists("a.dat"), "the file went through memory")
    expect(log.count("loaded without RTLD_DEEPBIND") == 2, "the event log says so once for each component: " + log)


def namespace():
    """A library in a namespace of its own sees files on disk, and the event log says so."""
    compile_all()
    log = run("./program write_file apart a.dat; ./program write_file apart b.dat", "true")
    expect(open("a.dat").read() == "data\n" and open("b.dat").read() == "data\n", "the files are on disk")
    expect(log.count("namespace of its own") == 1, "the event log says so once: " + log)


clear_directory()
globals()[case]()
