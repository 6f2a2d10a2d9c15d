"""A writer's script and a reader's run one after the other on disk, and coupled; both must print the same."""
import os

from harness import call, expect, finish, start, text


def write_scripts(directory, writes, reads):
    """The reader begins when the writer has ended, as far as it can see: by the last file."""
    os.makedirs(directory)
    for name, script in (("w.sh", f"{writes}\necho go > go.dat\n"), ("r.sh", f"cat go.dat > /dev/null\n{reads}\n")):
        with open(f"{directory}/{name}", "w") as file:
            file.write(script)


def compare(build, writes, reads, more="", staging="prewarm: 0"):
    """Whole runs, and what they leave. Returns the run."""
    for directory in ("disk", "coupled"):
        write_scripts(directory, writes, reads)
    with open("coupled/flow.yaml", "w") as flow:
        flow.write("\n".join([
            "version: 1", "name: odd", f"staging: {{{staging}}}", "components:", "  w: {command: [bash, -c, 'bash w.sh > w.out 2>&1']}",
            "  r: {command: [bash, -c, 'bash r.sh > r.out 2>&1']}", "files:", f'  - {{path: "*.dat", writer: w, readers: [r]{more}}}'
        ]) + "\n")
    for name in ("w", "r"):
        call("bash", "-c", f"bash {name}.sh > {name}.out 2>&1", cwd="disk", status=0)
    done = finish(start(build + "/bin/sluice", "run", "--log-dir", "log", "flow.yaml", cwd="coupled"), 0)
    for name in ("w.out", "r.out"):
        on_disk, coupled = text(f"disk/{name}"), text(f"coupled/{name}")
        expect(on_disk != "", f"{name} is empty, so it shows nothing")
        expect(on_disk == coupled, f"{name}: on disk\n{on_disk}\ncoupled\n{coupled}")
    return done
