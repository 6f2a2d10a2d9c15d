#!/usr/bin/python3
"""shells.py BUILD SOURCE CASE: what editors, shells and manuals have of `sluice`: schema, manual pages, completion, help."""
import glob
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
from harness import call, clear_directory, expect, finish, start, wait_for

build, source, case = sys.argv[1:4]
SLUICE = build + "/bin/sluice"


def skip_without(*programs):
    for program in programs:
        if not shutil.which(program):
            print(f"SKIPPED: there is no {program}")
            sys.exit(77)


def commands():
    names = re.findall(r"^  sluice ([a-z][a-z-]*) ", call(SLUICE, "--help", status=0).out, re.M)
    expect({"run", "check", "status", "schema", "import-dtf"} <= set(names) and len(names) > 12, f"the commands: {names}")
    return names


def is_screenful(text, what):
    lines = text.splitlines()
    expect(len(lines) <= 24 and max(map(len, lines)) <= 80, f"{what} needs {len(lines)} lines, {max(map(len, lines))} columns")


def help():
    """The help of every command fits a terminal and has an example."""
    is_screenful(call(SLUICE, "--help", status=0).out, "sluice --help")
    for name in commands():
        text = call(SLUICE, name, "--help", status=0).out
        is_screenful(text, f"sluice {name} --help")
        expect(text.startswith(f"sluice {name}") and re.search(r"Example:\n? +.*sluice " + name, text), f"sluice {name} --help has no example")


def manual():
    """Pages are made without a warning, and name every command and every key."""
    skip_without("groff")
    pages = {"sluice.1": call(SLUICE, "--manual", status=0).out, "sluice-workflow.5": call(SLUICE, "schema", "--manual", status=0).out}
    for name, text in pages.items():
        with open(name, "w") as page:
            page.write(text)
        made = call("groff", "-ww", "-man", "-Tascii", "-Kutf8", name, status=0)
        expect(not made.err, f"groff complains of {name}: {made.err}")
        if shutil.which("man"):
            shown = call("man", "--warnings", "-l", name, status=0, environment={"MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
            expect(not shown.err and "NAME" in shown.out, f"man complains of {name}: {shown.err}")
        if shutil.which("mandoc"):
            faults = [line for line in call("mandoc", "-Tlint", "-W", "warning", name).out.splitlines() if "missing date" not in line]
            expect(not faults, f"mandoc complains of {name}: {faults}")
    plain = pages["sluice.1"].replace("\\", "")
    expect(all(f".SS {name}\n" in plain for name in commands()), "a command is missing in sluice(1)")
    keys = {row.split("`")[1] for row in call(SLUICE, "schema", "--markdown", status=0).out.splitlines()}
    plain = pages["sluice-workflow.5"].replace("\\", "")
    expect(len(keys) > 30 and all(f".B {key}\n" in plain for key in keys), "a key is missing in sluice-workflow(5)")
    with open(build + "/coordinator/sluice-workflow.5") as page:
        expect(page.read() == pages["sluice-workflow.5"], "the page that is installed is another one")


def reference():
    """The tables of the reference are those of the table of keys: no key is missing, and none says something else."""
    with open(source + "/docs/workflow-reference.md") as page:
        text = page.read()
    parts = {"workflow": ("## Top level", "## `staging`"), "staging": ("## `staging`", "## A component"), "component": ("## A component", "### Failures"),
             "job": ("### A job for each file", "### When others"), "rule": ("## A file rule", "`partition: variable` suits")}
    rows = [row.split(" | ", 1) for row in call(SLUICE, "schema", "--markdown", status=0).out.splitlines()]
    for section, (begin, end) in parts.items():
        part = text[text.index(begin):]
        documented = re.findall(r"^\| (`[a-z-]+` \| .*)$", part[:part.index(end)], re.M)
        documented = [row for row in documented if not row.startswith("`{") and len(row.split(" | ")) >= 2]
        known = [row for name, row in rows if name == section]
        expect(known == documented, f"docs/workflow-reference.md, {section}: {[row for row in known + documented if (row in known) != (row in documented)]}")


def options():
    """docs/commands.md has every command with every option that its help names."""
    with open(source + "/docs/commands.md") as page:
        text = page.read()
    for name in commands():
        part = text[text.index("## `sluice run`"):] if name == "run" else "".join(re.findall(rf"^\| `sluice {name}\b.*$", text, re.M))
        expect(part, f"docs/commands.md has no sluice {name}")
        named = set(re.findall(r"--[a-z][a-z-]+", call(SLUICE, name, "--help", status=0).out)) - {"--help"}
        missing = {option for option in named if not re.search(re.escape(option) + r"(?![a-z-])", part)}
        expect(not missing, f"docs/commands.md, sluice {name}: {missing}")


def loader():
    """Reads YAML 1.2 as editors and Sluice do: on, off, yes and no are texts."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    Loader.yaml_implicit_resolvers = {first: [(tag, form) for tag, form in resolvers if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")]
                                      for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))
    return lambda text: yaml.load(text, Loader)


def schema():
    """Workflows of the examples and the tests are valid; mistakes are not, and the schema finds most that the parser finds in one key."""
    try:
        import jsonschema
        load = loader()
    except ImportError:
        print("SKIPPED: there is no python3-jsonschema or python3-yaml")
        sys.exit(77)
    validator = jsonschema.Draft7Validator(json.loads(call(SLUICE, "schema", status=0).out))
    validator.check_schema(validator.schema)
    good = glob.glob(source + "/workflows/examples/*/*.yaml") + glob.glob(source + "/tests/golden/workflows/ok_*.yaml")
    expect(len(good) > 10, "the workflows")
    for path in good:
        with open(path) as flow:
            errors = list(validator.iter_errors(load(flow.read())))
        expect(not errors, f"{path}: {errors[:1]}")
    flow = "version: 1\ncomponents:\n  a: {command: ./a%s}\n  b: {command: [./b, x]}\nstaging: {memory: 2GiB%s}\nfiles:\n  - {path: '*.nc', writer: a, readers: [b]%s}\n%s"
    expect(not list(validator.iter_errors(load(flow % ("", "", "", "")))), "the workflow without a mistake")
    for component, staging, rule, top in [(", rank: 2", "", "", ""), (", ranks: -1", "", "", ""), (", ranks: two", "", "", ""), (", on-failure: explode", "", "", ""),
                                          (", launcher-options: [x]", "", "", ""), (", every: 3", "", "", ""), (", restart-delay: 1s", "", "", ""), (", ranks: 2, launcher: mpirum", "", "", ""),
                                          ("", ", spil: none", "", ""), ("", ", huge-pages: on", "", ""), ("", ", retain: 2 apples", "", ""), ("", ", matchers: 0", "", ""),
                                          ("", "", ", through: disk", ""), ("", "", ", keep: 3", ""), ("", "", ", publish: 'close:0'", ""), ("", "", ", queue: 0", ""),
                                          ("", "", ", when-full: block", ""), ("", "", "", "file: []\n"), ("", "", "", "launcher: {comand: x}\n")]:
        text = flow % (component, staging, rule, top)
        expect(list(validator.iter_errors(load(text))), f"the schema finds no mistake in {text}")
        with open("bad.yaml", "w") as file:
            file.write(text)
        call(SLUICE, "check", "bad.yaml", status=2)
    for text in ["components: {a: {command: x}}", "version: 2\ncomponents: {a: {command: x}}", "version: 1\ncomponents: {}", "version: 1\ncomponents: {a: {ranks: 2}}",
                 "version: 1\ncomponents: {a: {command: x}}\nfiles: [{path: x, writer: a}]"]:
        expect(list(validator.iter_errors(load(text))), f"the schema finds no mistake in {text}")
    described = [key for key, value in validator.schema["properties"]["files"]["items"]["properties"].items() if value["description"]]
    expect(len(described) == 16, f"descriptions of the keys of a rule: {described}")


def completions(line, script):
    """What bash offers for the last word of the line."""
    words = line.split(" ")
    shell = f"""source {script}; COMP_WORDS=({' '.join("'" + word + "'" for word in words)}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT={len(line)}
_sluice; printf '%s\\n' "${{COMPREPLY[@]}}" """
    result = call("bash", "--norc", "-c", shell, status=0, environment={"PATH": build + "/bin:" + os.environ["PATH"]})
    expect(not result.err, f"bash complains: {result.err}")
    return result.out.split()


def bash():
    """Commands, options, workflows and runs are completed; on a terminal, too."""
    script = source + "/tools/completion/sluice.bash"
    expect(completions("sluice st", script) == ["status"], "a command")
    expect(set(commands()) <= set(completions("sluice ", script)), "all commands")
    for name in commands():
        options = set(re.findall(r"--[a-z][a-z-]*", call(SLUICE, name, "--help", status=0).out)) - {"--watch"}
        expect(options <= set(completions(f"sluice {name} --", script)), f"options of {name}: {options}")
    expect(completions("sluice run --notice", script) == ["--notice-after"] and completions("sluice run --progress j", script) == ["json"], "an option and its word")
    os.makedirs("flows")
    with open("my.yaml", "w") as flow:
        flow.write("version: 1\nname: my-run\ncomponents: {a: {command: [sh, -c, 'until test -e go; do sleep 0.05; done']}}\n")
    expect(set(completions("sluice run ", script)) == {"my.yaml", "flows"} and completions("sluice graph my", script) == ["my.yaml"], "workflows")
    expect("echo" in completions("sluice exec -- ech", script), "a program")
    run = start(SLUICE, "run", "my.yaml", environment={"XDG_RUNTIME_DIR": os.getcwd()})
    wait_for(lambda: "my-run" in call(SLUICE, "ls", environment={"XDG_RUNTIME_DIR": os.getcwd()}).out, "the run in sluice ls")
    os.environ["XDG_RUNTIME_DIR"] = os.getcwd()
    expect(completions("sluice status my", script) == ["my-run"] and str(run.pid) in completions("sluice attach ", script), "the run")
    open("go", "w").close()
    finish(run, 0)
    # as a person types it
    outer, inner = pty.openpty()
    shell = subprocess.Popen(["bash", "--norc", "-i"], stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
                             env={**os.environ, "PATH": build + "/bin:" + os.environ["PATH"], "PS1": "> ", "TERM": "dumb"})
    os.close(inner)
    os.write(outer, f"source {script}\nsluice chec\tmy.ya\t; echo ends with $?\n".encode())
    shown = b""

    def is_over():
        nonlocal shown
        shown += os.read(outer, 65536)
        return b"ends with 0\r\n" in shown

    wait_for(is_over, "the end of the typed command")
    expect(b"sluice check my.yaml" in shown and b"no mistakes found" in shown, f"what bash shows: {shown}")
    os.kill(shell.pid, signal.SIGKILL)
    shell.wait()


def zsh():
    skip_without("zsh")
    script = source + "/tools/completion/_sluice"
    call("zsh", "-n", script, status=0)
    outer, inner = pty.openpty()
    shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
                             env={**os.environ, "PATH": build + "/bin:" + os.environ["PATH"], "PS1": "> ", "TERM": "dumb", "HOME": os.getcwd()})
    os.close(inner)
    with open("my.yaml", "w") as flow:
        flow.write("version: 1\ncomponents: {a: {command: 'true'}}\n")
    os.write(outer, f"fpath=({os.path.dirname(script)} $fpath); autoload -Uz compinit; compinit -u -D\nsluice chec\tmy.ya\t; echo ends with $?\n".encode())
    shown = b""

    def is_over():
        nonlocal shown
        shown += os.read(outer, 65536)
        return b"ends with 0\r\n" in shown

    wait_for(is_over, "the end of the typed command")
    expect(b"no mistakes found" in shown, f"what zsh shows: {shown}")
    os.kill(shell.pid, signal.SIGKILL)
    shell.wait()


def on_terminal(*command, **environment):
    """What the command prints on a terminal."""
    outer, inner = pty.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=inner, stderr=inner, env={**os.environ, "TERM": "xterm", **environment})
    os.close(inner)
    shown = b""
    while True:
        try:
            got = os.read(outer, 65536)
        except OSError:
            break
        if not got:
            break
        shown += got
    process.wait()
    return shown


def colours():
    """Colours are for terminals only, and NO_COLOR turns them off."""
    with open("bad.yaml", "w") as flow:
        flow.write("version: 1\ncomponents: {a: {command: x, rank: 2}}\n")
    with open("good.yaml", "w") as flow:
        flow.write("version: 1\ncomponents: {a: {command: 'true'}}\n")
    os.environ.pop("NO_COLOR", None)
    expect(b"\x1b[31munknown key 'rank'" in on_terminal(SLUICE, "check", "bad.yaml") and b"\x1b[32mno mistakes found\x1b[0m" in on_terminal(SLUICE, "check", "good.yaml"), "no colours on a terminal")
    expect(b"\x1b[31munknown" in on_terminal(SLUICE, "check", "bad.yaml", NO_COLOR=""), "an empty NO_COLOR counts as none")
    for flow in ("bad.yaml", "good.yaml"):
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            expect(b"\x1b" not in on_terminal(SLUICE, "check", flow, **environment), f"colours with {environment}")
        expect("\x1b" not in call(SLUICE, "check", flow).all, "colours in a pipe")


def forecast():
    """check ends with what will happen."""
    with open("flow.yaml", "w") as flow:
        flow.write("""version: 1
staging: {memory: 64MiB, spill: none}
components:
  model: {command: "true", ranks: 2, restarts: 3}
  analysis: {command: "true", on-failure: stop}
  viewer: {command: "true"}
  picture: {command: "true {file}", for-each: "wave_*.nc", at-most: 2}
  post: {command: "true", start: when-done}
  member: {command: "true {instance}", instances: 10, at-most: 4}
files:
  - {path: "wave_*.nc", writer: model, readers: {analysis: all, picture: all, viewer: latest}, queue: 3, when-full: wait}
  - {path: kept.nc, writer: model, readers: [analysis], keep: true}
  - {path: log.nc, writer: model, readers: [post], through: burst-buffer}
  - {path: disk.nc, writer: analysis, readers: [viewer], through: file}
  - {path: "m{instance}.nc", writer: member, readers: [viewer], publish: sync}
""")
    text = call(SLUICE, "check", "flow.yaml", status=0).out
    told = text[text.index("What will happen:\n"):].splitlines()[1:]
    for sentence in ["model, analysis and viewer start together.", "picture starts once for each file of 'wave_*.nc', as soon as it is published, 2 at a time.",
                     "post starts when model has ended.", "the 10 members of member start, 4 at a time.", "model hands files 'wave_*.nc' to analysis, picture and viewer through memory.",
                     "an open of 'wave_*.nc' in analysis and viewer waits until model has closed it.", "viewer takes the newest file of 'wave_*.nc', and skips those before it.",
                     "when 3 files of 'wave_*.nc' are unread, model waits before it creates another one.",
                     "a file of 'wave_*.nc' stays until analysis and viewer have ended, because nobody knows how many processes of analysis and viewer read it ('ranks: 1' if each is one process, or "
                     "'for-each'); where memory is short, what was read goes first; nothing of it stays on disk.",
                     "each file of 'kept.nc' is also written to disk in the background, and stays there.", "model hands files 'log.nc' to post through burst-buffer logs on a local disk.",
                     "analysis hands files 'disk.nc' to viewer through ordinary files on disk.", "an open of 'm{instance}.nc' in viewer waits until member has synced or closed the file.",
                     "data beyond 64.0 MiB of memory waits for readers, and so do its writers.", "when model fails, it is started again, at most 3 times.", "when analysis fails, the run stops.",
                     "All other files are ordinary files on disk."]:
        expect("- " + sentence in told, f"not told: {sentence}")
    expect(len(told) == len(set(told)), "a sentence is told twice")


clear_directory()
globals()[case]()
