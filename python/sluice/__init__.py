"""Looks at runs of Sluice from Python: what goes on, what has been published, and what a run has done.

Everything comes from the command `sluice`, which must be in PATH or be named by the environment variable
SLUICE. Nothing here holds back a run or changes it.

    import sluice
    sluice.runs()                                # all runs of this directory, and those that go on
    sluice.files("tsunami")                      # what it has published, the newest first
    wave = sluice.open("tsunami", "wave_*.nc")   # the newest of these, as an xarray.Dataset in memory
    sluice.report("tsunami").components          # figures, as a pandas.DataFrame

Functions raise SluiceError with the text of the command where it fails. `runs`, `files` and `status` need
the standard library only, `open` needs xarray with netCDF4, and a Report's tables need pandas.
"""
from __future__ import annotations

import fnmatch
import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

if TYPE_CHECKING:
    import pandas
    import xarray

__all__ = ["File", "Report", "Run", "SluiceError", "files", "open", "report", "runs", "status"]


class SluiceError(RuntimeError):
    """The command has failed; the text is what it said."""


@dataclass(frozen=True)
class Run:
    """A run that goes on or has ended."""

    name: str  #: of the workflow
    state: str  #: "goes on", "ended", "failed", "was killed", or "-" without a record
    began: float  #: seconds since 1970
    log_directory: str
    can_be_resumed: bool
    exit_status: Optional[int] = None  #: None: it goes on, was killed, or kept no record
    log_bytes: Optional[int] = None  #: size of the log directory on disk; None for runs elsewhere


@dataclass(frozen=True)
class File:
    """A file that a run has published, and that is there now."""

    name: str  #: by which the commands know it
    path: str  #: as the program wrote it, absolute
    bytes: int
    published: float  #: seconds since 1970
    in_memory: bool  #: False: it is an ordinary file on disk
    publication: int  #: its number among all publications of the run


class Report:
    """The figures of a run. Bytes, milliseconds and counts, as `sluice report --json` has them."""

    def __init__(self, figures: dict[str, Any]) -> None:
        self.figures = figures

    def __repr__(self) -> str:
        return f"<Report of {self.figures['run']}: {self.figures['end']}, {self.figures['duration_ms']} ms>"

    def _table(self, key: str) -> pandas.DataFrame:
        import pandas

        rows = self.figures[key]
        return pandas.DataFrame(rows).set_index("name") if rows else pandas.DataFrame()

    @property
    def components(self) -> pandas.DataFrame:
        """A row for each component: time, bytes, waits."""
        return self._table("components")

    @property
    def rules(self) -> pandas.DataFrame:
        """A row for each file rule: files, steps, calls, bytes."""
        return self._table("rules")

    @property
    def files(self) -> pandas.DataFrame:
        """A row for each file, as many as the report has."""
        return self._table("files")


RunName = Union[str, Run]
"""A run as the commands take it: the name of a workflow, the number of a run, the workflow's file, or a log
directory; or one of runs()."""


def _call(*arguments: str) -> str:
    command = os.environ.get("SLUICE", "sluice")
    try:
        done = subprocess.run([command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise SluiceError(f"{command} cannot be started: {error.strerror}. Put it into PATH, or name it by SLUICE") from error
    if done.returncode != 0:
        raise SluiceError(done.stderr.strip() or f"sluice {' '.join(arguments)} ended with status {done.returncode}")
    return done.stdout


def _named(run: Optional[RunName]) -> list[str]:
    if run is None:
        return []
    return [run.log_directory if isinstance(run, Run) else run]


def runs(where: Optional[str] = None) -> list[Run]:
    """The runs whose logs are in `where`, a directory or a workflow's file, the oldest first. Without it: of
    this directory, and all that go on on this machine."""
    found = json.loads(_call("runs", "--json", *([where] if where else [])))
    return [Run(**run) for run in found]


def files(run: Optional[RunName] = None) -> list[File]:
    """What a run that goes on has published, the newest first. Without a name: the only run."""
    now = time.time()
    found = [File(published=now - file.pop("age_ms") / 1000, **file) for file in json.loads(_call("ls", "--json", *_named(run)))["files"]]
    return sorted(found, key=lambda file: file.publication, reverse=True)


def status(run: Optional[RunName] = None) -> dict[str, Any]:
    """What a run that goes on does now, as `sluice status --json` says it."""
    return json.loads(_call("status", "--json", *_named(run)))


def open(run: Optional[RunName] = None, pattern: str = "*", **options: Any) -> xarray.Dataset:
    """The newest published file of the run whose name or path fits the pattern, in memory. `options` are
    xarray.load_dataset's. Raises SluiceError where there is none."""
    import xarray

    fitting = [file for file in files(run) if fnmatch.fnmatch(file.name, pattern) or fnmatch.fnmatch(os.path.basename(file.path), pattern)]
    if not fitting:
        raise SluiceError(f"no file that fits '{pattern}' is published now")
    named = json.loads(_call("ls", "--json", *_named(run)))["process"]
    with tempfile.TemporaryDirectory(prefix="sluice-") as directory:
        copy = os.path.join(directory, os.path.basename(fitting[0].path))
        _call("cp", f"{named}:{fitting[0].name}", copy)
        dataset = xarray.load_dataset(copy, **options)
    dataset.attrs.setdefault("sluice_file", fitting[0].path)
    return dataset


def report(run: Optional[RunName] = None) -> Report:
    """The figures of a run, also of one that has ended. Without a name: the last run of this directory."""
    return Report(json.loads(_call("report", "--json", *_named(run))))
