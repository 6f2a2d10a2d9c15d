#!/usr/bin/python3
"""tool_chains.py BUILD FIELDS RUNS: random graphs of real tools leave the same files by Sluice as one after the other on disk.

Each run draws two to five components: NCO, CDO, netCDF's tools, GDAL, libraries of Python, R, commands of the shell, and
programs of PnetCDF with ranks (FIELDS). Each step is tried on disk as it is drawn; a tool that refuses its input there is
drawn again. Then `sluice run` runs them with random settings. Compared are the files at the ends, and those that rules keep.

SLUICE_TEST_SEED repeats all runs of a test, SLUICE_TEST_RUN="SEED.NUMBER" one of them. What is random is drawn before the
settings, so that a run is the same on each machine with the same tools."""
import filecmp
import os
import random
import shutil
import subprocess
import sys

sys.path.append(os.path.dirname(sys.path[0]))
import harness
from harness import clear_directory, expect, finish, repeat_runs, start

BUILD, FIELDS = sys.argv[1:3]
RUNS = int(os.environ.get("SLUICE_TEST_RUNS") or sys.argv[3])
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = f"/usr/bin/python3 {HERE}/python_tools.py"
R = f"Rscript {HERE}/tools.R"


class Tool:
    """A command with {o} for the file that it writes, {i} for what it reads, {t} for a file of its own. It may close {o} several
    times; it may read all files of its source at once, or one of another component as {j}."""

    def __init__(self, command, closes_often=False, reads_all=False, ranks=False):
        self.command, self.closes_often, self.reads_all, self.ranks = command, closes_often, reads_all, ranks


def often(command):
    return Tool(command, closes_often=True)


def of_all(command, closes_often=False):
    return Tool(command, closes_often, reads_all=True)


def by_python(*names, **keys):
    return [Tool(f"{PYTHON} {name} {{o}} {{i}}", **keys) for name in names]


SOURCES = [
    Tool(FIELDS, ranks=True),
    Tool(FIELDS, ranks=True),
    *(Tool(f"{PYTHON} make {{o}} {{seed}} {kind}") for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4", "NETCDF4_CLASSIC")),
    Tool("cdo -L -s --no_history -f nc -setname,temp -random,r36x18,{seed} {o}"),
    Tool("cdo -L -s --no_history -f nc4 -setname,temp -random,r12x6,{seed} {o}"),
    *(Tool(f"ncgen -k {kind} -o {{o}} in.cdl") for kind in ("classic", "64-bit-data", "nc4")),
]

COPIES = [
    Tool("cp {i} {o}"),
    Tool("cp -p --sparse=always {i} {o}"),
    Tool("cp --reflink=auto {i} {o}"),
    Tool("cat {i} > {o}"),
    Tool("cat < {i} > {o}"),
    Tool("dd if={i} of={o} bs=777 status=none"),
    Tool("dd if={i} of={o} bs=4k conv=fsync status=none"),
    Tool("tar cf - {i} | tar xOf - > {o}"),
    Tool("gzip -c {i} | gunzip -c > {o}"),
    Tool("gzip -c {i} > {t}.gz; gunzip -c {t}.gz > {o}; rm {t}.gz"),
    Tool("cp {i} {t} && mv {t} {o}"),
    Tool("cp {i} {t}; ln {t} {o}; rm {t}"),
    Tool("{{ head -c 100 {i}; tail -c +101 {i}; }} > {o}"),
    Tool("tee {o} < {i} > /dev/null"),
    Tool("rsync {i} {o}"),
    Tool("rsync --inplace {i} {o}"),
    Tool("install -m 644 {i} {o}"),
    Tool("split -b 50k {i} {t}. && cat {t}.* > {o} && rm {t}.*"),
    Tool("tar cf {t}.tar {i} && tar xOf {t}.tar > {o} && rm {t}.tar"),
    Tool("perl -e 'undef $/; open(I, shift); open(O, \">\", shift); print O <I>' {i} {o}"),
    often("head -c 100 {i} > {o}; tail -c +101 {i} >> {o}"),
    often("dd if={i} of={o} bs=512 count=1 status=none; dd if={i} of={o} bs=512 skip=1 seek=1 conv=notrunc status=none"),
    often("cp {i} {o}.part; mv {o}.part {o}"),
    often("cp {i} {o}; cp {o} {t}; cp {t} {o}; rm {t}"),
    often("cp {i} {o}; touch -d 2001-01-01 {o}; chmod 600 {o}"),
    often("truncate -s 1M {o}; cp {i} {o}"),
]

TOOLS = [
    *(Tool(f"nccopy -k {kind} {{i}} {{o}}") for kind in ("classic", "64-bit-offset", "cdf5", "nc4", "nc4-classic")),
    Tool("nccopy -k nc4 -d 3 -s -c time/1,lat/3 {i} {o}"),
    Tool("nccopy -w -k cdf5 {i} {o}"),
    Tool("nccopy -u {i} {o}"),
    Tool("nccopy -m 1000 {i} {o}"),
    Tool("nccopy -V temp {i} {o}"),
    *(Tool(f"ncdump -p 9,17 {{i}} | ncgen -k {kind} -o {{o}} -") for kind in ("classic", "64-bit-data", "nc4")),
    Tool("ncdump {i} > {t}; ncgen -b -o {o} {t}; rm {t}"),
    *(Tool(f"ncks -h -O {options} {{i}} {{o}}") for options in ("", "-4", "-3", "-5", "-7 -L 1", "-d time,0,0", "-v temp", "-x -v count", "--fix_rec_dmn time", "--mk_rec_dmn lat", "--ram_all",
                                                               "--hdr_pad=5000", "-d lat,1,,2", "--no_tmp_fl", "-C -v height", "-a", "--open_ram")),
    *(Tool(f"ncap2 -h -O -s '{script}' {{i}} {{o}}") for script in ("extra=temp*2", "temp(:,:,:)=1.5", "*sum=temp.total(); total=sum")),
    Tool("ncap2 -h -v -O -s 'mean=temp.avg($lon)' {i} {o}"),
    *(Tool(f"ncwa -h -O {options} {{i}} {{o}}") for options in ("-a lon", "-a lat,lon", "-y max -v temp", "-a time")),
    *(Tool(f"ncpdq -h -O {options} {{i}} {{o}}") for options in ("-a lat,time", "-a -lon", "-P all_new", "-U", "-a lon,lat")),
    often("ncatted -h -a units,temp,m,c,degC -a new,global,c,d,1.5 {i} {o}"),
    often("cp {i} {o}; ncatted -h -O -a long,global,c,c,$(printf %0500d 7) {o}"),
    often("ncrename -h -v temp,temperature -d lat,y {i} {o}"),
    often("cp {i} {o}; ncrename -h -a temp@units,unit {o}"),
    often("ncks -h -O -v temp {i} {o}; ncks -h -A -v count {i} {o}"),
    often("ncks -h -O -v temp {i} {o}; ncap2 -h -A -s 'other=temp+1' {o} {o}"),
    often("cp {i} {o}; ncap2 -h -O -s 'other=temp+1' {o} {o}"),
    Tool("ncra -h -O {i} {o}"),
    Tool("ncra -h -O -d time,0,,2 -y max {i} {o}"),
    Tool("ncflint -h -O -w 0.3,0.7 {i} {i} {o}"),
    Tool("ncdiff -h -O {i} {i} {o}"),
    *(of_all(f"{name} -h -O {{i}} {{o}}") for name in ("ncra", "ncrcat", "nces", "ncecat", "ncra -y ttl", "ncrcat -4 -L 1")),
    often("ncks -h -O -v temp {i} {o}; ncrcat -h --rec_apn {i} {o}"),
    *(Tool(f"cdo -L -s --no_history {options} {{i}} {{o}}") for options in ("copy", "-f nc copy", "-f nc2 mulc,2", "-f nc4 addc,1", "-f nc4c -z zip_1 copy", "-f nc5 copy", "fldmean", "timmean", "zonmean",
                                                                        "-addc,1 -mulc,2", "-fldsum -sellonlatbox,0,180,-40,40", "chname,temp,warm", "selname,temp", "-b F64 copy", "settaxis,2001-01-01,12:00:00,1day")),
    Tool("cdo -L -s --no_history -f nc -sub -selname,temp {i} -timmean -selname,temp {i} {o}"),
    Tool("cdo -L -s --no_history remapbil,r12x6 -selname,temp {i} {o}"),
    Tool("cdo -L -s --no_history -O -f nc -merge -selname,temp {i} -chname,temp,twin -selname,temp {i} {o}"),
    *(of_all(f"cdo -L -s --no_history -O {name} {{i}} {{o}}") for name in ("-f nc mergetime", "-f nc ensmean", "-f nc5 ensmax", "-f nc cat", "-f nc4 mergetime", "-f nc -fldmean -ensmin")),
    often("cdo -L -s --no_history copy {i} {o}; cdo -L -s --no_history cat {i} {o}"),
    Tool("gdal_translate -q -of netCDF NETCDF:{i}:temp {t} && ncatted -h -O -a history,global,d,, {t} && mv {t} {o}"),
    often("gdal_translate -q -of netCDF -co FORMAT=NC4 NETCDF:{i}:height {o} && ncatted -h -O -a history,global,d,, {o}"),
    *by_python("copy3", "copy5", "copy4", "compressed", "by_record", "from_memory", "diskless", "groups", "flattened", "scipy_mapped", "scipy_read", "xarray_netcdf4", "xarray_scipy", "xarray_lazy",
               "h5py_copy"),
    *by_python("persistent", "appended", "in_rplus", "scipy_appended", "xarray_appended", "h5py_changed", "h5py_core", closes_often=True),
    *by_python("xarray_many", "netcdf_many", reads_all=True),
    often(f"{R} {{o}} {{i}}"),
    *[Tool(FIELDS, ranks=True)] * 6,
]

# Two files of two components. CDO opens its inputs at once: the first one would decide the format.
PAIRS = [
    Tool("ncbo -h -O -y add {i} {j} {o}"),
    Tool("ncflint -h -O -w 0.5 {i} {j} {o}"),
    Tool("cdo -L -s --no_history -O -f nc add -selname,temp {i} -selname,temp {j} {o}"),
    Tool("cdo -L -s --no_history -O -f nc4 merge -selname,temp {i} -chname,temp,twin -selname,temp {j} {o}"),
    often("cp {i} {o}; ncks -h -A -v temp {j} {o}"),
    Tool("cat {i} {j} > {o}"),
    Tool("tar c {i} {j} --mtime=@0 --owner=0 --group=0 --mode=600 > {o}"),
]

# What an end of the graph leaves.
LOOKS = [
    Tool("cp {i} {o}"),
    Tool("ncdump -s {i} > {o}"),
    Tool("ncks --trd {i} > {o}"),
    Tool("md5sum < {i} > {o}"),
    Tool("stat -c %s {i} > {o}"),
    Tool("od -A d -t x1 {i} | tail -n 20 > {o}"),
    Tool("cdo -s infon {i} > {o}"),
    Tool("cdo -s sinfon {i} > {o}"),
    Tool("ncmpidump {i} > {o}"),
    Tool("ncvalidator {i} > {o}"),
    Tool("gdalinfo -stats NETCDF:{i}:temp > {o}; rm -f {i}.aux.xml"),
    Tool("nccopy -k nc4 {i} {o}"),
    Tool("h5dump -H {i} > {o}"),
    Tool("ncks -h -O -d time,0 {i} {o}"),
    Tool("cmp {i} {i} > {o}"),
    Tool("python3 -c 'import sys; d = open(sys.argv[1], \"rb\"); d.seek(0, 2); print(d.tell()); d.seek(-4, 1); print(d.read())' {i} > {o}"),
    Tool("if [ -s {i} ]; then echo some > {o}; fi; head -c 5 {i} >> {o}"),
]

CDL = """netcdf in { dimensions: time = UNLIMITED; lat = 5; lon = 7;
variables: double time(time); time:units = "days since 2000-01-01"; float lat(lat); lat:units = "degrees_north"; float lon(lon); lon:units = "degrees_east";
float temp(time, lat, lon); temp:units = "K"; int count(time, lat, lon); double height(lat, lon); :title = "text";
data: time = 1, 2, 3; lat = -60, -30, 0, 30, 60; lon = 0, 50, 100, 150, 200, 250, 300; temp = %s; count = %s; height = %s; }"""


def write_cdl():
    numbers = [str(i * 7 % 50) for i in range(105)]
    with open("in.cdl", "w") as file:
        file.write(CDL % (", ".join(numbers), ", ".join(numbers), ", ".join(numbers[:35])))


class Stage:
    """A component, and the files that it writes."""

    def __init__(self, number, tool, sources, is_look, seed, draw):
        self.name, self.tool, self.sources, self.is_look, self.seed = f"c{number}", tool, sources, is_look, seed
        self.ranks = draw.choice([1, 2, 3]) if tool.ranks else 0
        self.files = draw.choice([1, 2, 2, 4]) if not sources else 1 if tool.reads_all else min(each.files for each in sources)
        self.readers = []
        self.has_jobs = False
        for source in sources:
            source.readers.append(self)

    def target(self, number):
        return f"{'out' if self.is_look else 'f'}.{self.name}_{number}.nc"

    def sources_of(self, number):
        return [source.target(i) for source in self.sources for i in (range(source.files) if self.tool.reads_all else [number])]

    def line(self, number):
        """The command for one file."""
        names = self.sources_of(number)
        keys = {"o": self.target(number), "t": f"own.{self.name}_{number}", "seed": self.seed + number, "i": " ".join(names) if self.tool.reads_all else names[0] if names else ""}
        return self.tool.command.format(**keys, j=names[-1] if names else "")

    def words_of_ranks(self):
        if not self.sources:
            return [FIELDS, "make", str(self.seed), str(self.files), self.target(0)[:-4]]
        return [FIELDS, "copy", *(name for i in range(self.files) for name in (self.sources_of(i)[0], self.target(i)))]

    def script(self):
        return "set -e\n" + "\n".join(self.line(i) for i in range(self.files)) + "\n"

    def run_on_disk(self):
        """Whether the tool could. Debian's PnetCDF leaves any bytes behind records of odd sizes, so Sluice's writes the ordinary files."""
        if self.tool.ranks:
            return run_quietly(BUILD + "/bin/sluice", "exec", "--", *harness.MPIRUN, str(self.ranks), *self.words_of_ranks())
        return run_quietly("sh", "-c", self.script())

    def component(self):
        if self.tool.ranks:
            return [f"command: {self.words_of_ranks()}", f"ranks: {self.ranks}"]
        if self.has_jobs:
            body = self.line(7777777).replace(self.sources[0].target(7777777), '"$1"').replace("7777777", "$n")
            return [f"command: [sh, -c, {quoted('set -e; n=${1##*_}; n=${n%.nc}; ' + body)}, sh, \"{{name}}\"]", f'for-each: "{self.sources[0].pattern}"']
        return [f"command: [sh, {self.name}.sh]"]

    @property
    def has_ranks_alone(self):
        return all(each.tool.ranks for each in [self, *self.readers])


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def run_quietly(*command):
    environment = {**os.environ, **harness.MPI_ENVIRONMENT}
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=harness.LIMIT_S)
    return result.returncode == 0


class Graph:
    """A random graph whose components have run on disk, in the working directory."""

    def __init__(self, draw):
        self.draw, self.stages, self.refused = draw, [], 0
        for _ in range(draw.choice([1, 1, 1, 2])):
            self.add(SOURCES, [])
        for _ in range(draw.choice([1, 2, 3, 4])):
            self.add_step()
        for stage in list(self.stages):
            for _ in range(max(draw.choice([0, 0, 1]), 0 if stage.readers else 1)):
                self.add(LOOKS, [stage], is_look=True)

    def add_step(self):
        source = self.draw.choice(self.stages[-2:])
        others = [each for each in self.stages if each is not source]
        if others and self.draw.random() < 0.3:
            return self.add(PAIRS, [source, self.draw.choice(others)])
        return self.add(COPIES if self.draw.random() < 0.3 else TOOLS, [source])

    def add(self, tools, sources, is_look=False):
        for _ in range(20):
            stage = Stage(len(self.stages), self.draw.choice(tools), sources, is_look, self.draw.randrange(1000), self.draw)
            before = set(os.listdir("."))
            if stage.run_on_disk() and all(os.path.exists(stage.target(i)) for i in range(stage.files)):
                self.stages.append(stage)
                return
            self.refused += 1
            for name in set(os.listdir(".")) - before:
                os.remove(name)
            for source in sources:
                source.readers.remove(stage)
        tool = Tool("cp {i} {o}")  # each tool has refused
        self.stages.append(Stage(len(self.stages), tool, sources, is_look, 0, self.draw))
        expect(self.stages[-1].run_on_disk(), "a copy on disk")

    def is_netcdf4(self, stage):
        with open("../disk/" + stage.target(0), "rb") as file:
            return not file.read(3) == b"CDF"


class Settings:
    """How the graph runs by Sluice."""

    def __init__(self, graph, draw):
        self.graph, self.draw = graph, draw
        self.nodes = draw.choice([1, 1, 2])
        self.staging = [f"memory: {draw.choice(['2MiB', '4MiB', '16MiB', '256MiB'])}", "prewarm: 0", f"matchers: {draw.choice([1, 1, 2])}"]
        self.staging += draw.choice([[], [], ["retain: 0"]]) + draw.choice([[], [], ["copy-threads: 2"]])
        self.written = [each for each in graph.stages if not each.is_look]
        for stage in self.written:
            stage.pattern = draw.choice([f"f.{stage.name}_*.nc", f"f.{stage.name}_*.nc", f"f.{stage.name}_*"])
            stage.keys = self.rule_keys(stage)
            for reader in stage.readers:
                one_place = not reader.tool.ranks and not reader.tool.reads_all and len(reader.sources) == 1
                reader.has_jobs = one_place and stage.pattern.endswith(".nc") and draw.random() < 0.25
        self.when_done = {each.name for each in graph.stages if each.sources and not each.has_jobs and draw.random() < 0.1}

    def rule_keys(self, stage):
        draw = self.draw
        choices = ["memory"] * 6 + ["file"] * 2
        if not self.graph.is_netcdf4(stage):
            choices.append("burst-buffer")
        if stage.has_ranks_alone:
            choices += ["subfiles", "blobs"] * 2
        through = draw.choice(choices)
        keys = [f"through: {through}"]
        if stage.tool.closes_often:
            keys.append("publish: exit")
        elif draw.random() < 0.2:
            keys.append(f"publish: {draw.choice(['exit', 'close', 'close:1'])}")
        if through == "memory":
            keys += draw.choice([[], [], ["keep: true"]])
            if "publish: exit" not in keys and draw.random() < 0.25:
                keys += [f"queue: {draw.choice([1, 2])}", f"when-full: {draw.choice(['wait', 'spill'])}"]
        for key in ("replay: off", "partition: variable", "identity: name"):
            if draw.random() < 0.15:
                keys.append(key)
        return keys

    def flow(self):
        lines = ["version: 1", "name: chain", "staging: {" + ", ".join(self.staging) + "}", "components:"]
        for each in self.graph.stages:
            keys = each.component() + (["start: when-done"] if each.name in self.when_done else [])
            lines.append(f"  {each.name}: {{" + ", ".join(keys) + "}")
        lines.append("files:")
        for each in self.written:
            readers = ", ".join(dict.fromkeys(reader.name for reader in each.readers))
            lines.append("  - {" + ", ".join([f'path: "{each.pattern}"', f"writer: {each.name}", f"readers: [{readers}]", *each.keys]) + "}")
        return "\n".join(lines) + "\n"

    def is_kept(self, stage):
        return stage.is_look or any(key in stage.keys for key in ("keep: true", "through: file", "through: burst-buffer"))

    def may_leave(self, name):
        return any(name.startswith(f"f.{each.name}_") and "through: memory" not in each.keys for each in self.written)


def as_text(path):
    """A file of netCDF as text, with all of its attributes. Its history has times. ncdump cannot show the special ones of each file."""
    for special in (["-s"], []):
        text = subprocess.run(["ncdump", *special, "-p", "9,17", path], capture_output=True, text=True)
        if text.returncode == 0:
            return "\n".join(line for line in text.stdout.splitlines() if ":history" not in line)
    return None


def difference(name):
    one, other = f"disk/{name}", f"run/{name}"
    if not os.path.exists(other):
        return f"{name} is missing"
    if filecmp.cmp(one, other, shallow=False):
        return None
    texts = as_text(one), as_text(other)
    if None in texts:
        return f"{name}: {os.path.getsize(one)} bytes on disk, {os.path.getsize(other)} in the run"
    for line, pair in enumerate(zip(*(text.splitlines() for text in texts)), 1):
        if pair[0] != pair[1]:
            return f"{name}: line {line} of ncdump: on disk '{pair[0][:200]}', in the run '{pair[1][:200]}'"
    return None if texts[0] == texts[1] else f"{name}: another length"


def one_run(seed):
    print(f"== SLUICE_TEST_RUN={seed}", flush=True)
    draw = random.Random(seed)
    clear_directory()
    for directory in ("disk", "run"):
        os.mkdir(directory)
        os.chdir(directory)
        write_cdl()
        os.chdir("..")
    os.chdir("disk")
    graph = Graph(draw)
    os.chdir("../run")
    settings = Settings(graph, draw)
    for stage in graph.stages:
        with open(stage.name + ".sh", "w") as file:
            file.write(stage.script())
    with open("flow.yaml", "w") as file:
        file.write(settings.flow())
    print(settings.flow(), *(f"{stage.name}: {stage.line(0)}\n" for stage in graph.stages if not stage.tool.ranks), f"{graph.refused} refused", sep="\n", flush=True)
    finish(start(BUILD + "/bin/sluice", "run", "flow.yaml", environment={} if settings.nodes == 1 else {"SLUICE_VIRTUAL_NODES": "2"}), 0)
    left = [name for name in os.listdir(".") if name.startswith(("f.", "own.")) and not settings.may_leave(name) and not any(settings.is_kept(each) and name.startswith(each.target(0)[:-4]) for each in settings.written)]
    os.chdir("..")
    expect(not left, f"SLUICE_TEST_RUN={seed}: left on disk: {left}")
    for stage in graph.stages:
        for wrong in (difference(stage.target(i)) for i in range(stage.files) if settings.is_kept(stage)):
            expect(wrong is None, f"SLUICE_TEST_RUN={seed}: {stage.name}: {wrong}")


def main():
    missing = [name for name in ("ncks", "ncap2", "cdo", "ncdump", "nccopy", "gdal_translate", "Rscript", "h5dump", "ncmpidump") if not shutil.which(name)]
    if missing:
        print("SKIPPED: not installed:", *missing)
        sys.exit(77)
    repeat_runs(one_run, RUNS)


main()
