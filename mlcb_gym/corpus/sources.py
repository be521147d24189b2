# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pinned source archives of the corpora, fetched with the user's own pip or apt."""

import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from shutil import copyfile
from threading import Lock

from platformdirs import user_cache_path

from mlcb_gym.atomic import replacing
from mlcb_gym.corpus.corpora import BUILT
from mlcb_gym.errors import ProgramError
from mlcb_gym.regular_file import read_regular

_DEBIAN = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n"

_UPDATING = Lock()

#: For one command of pip or apt; a slow mirror takes minutes.
FETCH_SECONDS = 900.0


@dataclass(frozen=True)
class Source:
    """One project of a collection: its archive, pinned by digest, and what its modules need to compile."""

    name: str
    split: str
    origin: str  # "debian" or "pypi"
    version: str
    sha256: str
    #: Folder of the archive that is compiled.
    root: str = "."
    flags: tuple[str, ...] = ()
    #: Folders to search for headers; None means every folder that holds one.
    include: tuple[str, ...] | None = None
    #: What `fnmatch` patterns leave out, beside tests and other systems' ports.
    skip: tuple[str, ...] = ()
    #: Files to write, as a configure script would.
    headers: dict[str, str] = field(default_factory=dict)
    #: Files to copy first: target (a folder if it ends in "/") to glob.
    copies: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Collection:
    """The projects that a corpus is chosen from: ``collections/CORPUS.toml``."""

    #: Modules of one project at most, by split, so that none dominates.
    caps: dict[str, int]
    sources: tuple[Source, ...]
    #: Files of one project that are compiled at most; which, their names decide.
    tried: int | None = None


def collection(corpus: str) -> Collection:
    """Return the projects that a corpus is built from.

    Raises:
        ProgramError: it is none that is built.
    """
    if corpus not in BUILT:
        raise ProgramError(f"{corpus}: no corpus that is built, expected one of {', '.join(BUILT)}")
    table = tomllib.loads(files("mlcb_gym.corpus").joinpath(f"collections/{corpus}.toml").read_text())
    return Collection(table["caps"], tuple(_source(name, entry) for name, entry in table["projects"].items()), table.get("tried"))


@contextmanager
def unpacked(source: Source) -> Iterator[Path]:
    """Yield the source tree of a project, fetched where needed, for as long as the context lasts."""
    with tempfile.TemporaryDirectory(prefix="mlcb-corpus-") as folder:
        tree = unpack(source, Path(folder)) / source.root
        _configure(source, tree)
        yield tree


def unpack(source: Source, folder: Path, wanted: Callable[[str], bool] = bool) -> Path:
    """Unpack the wanted files of a project, fetched where needed; return its folder in this one."""
    with tarfile.open(fetch(source)) as archive:
        # Python before 3.11.4 knows no filter. Archives are pinned.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
        archive.extractall(folder, [member for member in archive if wanted(member.name)])
    (top,) = folder.iterdir()
    return top


def fetch(source: Source) -> Path:
    """Return the archive of a project, from the cache or the network; its digest is checked."""
    cached = user_cache_path("mlcb_gym") / "sources" / f"{source.name}-{source.version}-{source.sha256[:16]}.tar"
    if not _is_whole(cached, source):
        with replacing(cached) as unfinished, tempfile.TemporaryDirectory(dir=cached.parent) as folder:
            archive = (_from_pypi if source.origin == "pypi" else _from_debian)(source, Path(folder))
            if (digest := sha256(read_regular(archive)).hexdigest()) != source.sha256:
                raise ProgramError(f"{source.name}: {archive.name} has digest {digest}, expected {source.sha256}")
            archive.replace(unfinished)
    return cached


def _is_whole(archive: Path, source: Source) -> bool:
    with suppress(OSError):
        return sha256(read_regular(archive)).hexdigest() == source.sha256
    return False


def _source(name: str, entry: dict[str, object]) -> Source:
    origin = "pypi" if "pypi" in entry else "debian"
    version = entry.pop(origin)
    lists = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Source(name=name, origin=origin, version=str(version), **lists)  # type: ignore[arg-type]


def _configure(source: Source, tree: Path) -> None:
    ours = tree / ".mlcb"
    ours.mkdir()
    copyfile(str(files("mlcb_gym.corpus").joinpath("headers/config.h")), ours / "config.h")
    for name, text in source.headers.items():
        (ours / name).parent.mkdir(parents=True, exist_ok=True)
        (ours / name).write_text(text)
    for target, pattern in source.copies.items():
        for file in sorted(tree.glob(pattern)):
            destination = ours / target / file.name if target.endswith("/") else ours / target
            destination.parent.mkdir(parents=True, exist_ok=True)
            copyfile(file, destination)


def _from_pypi(source: Source, folder: Path) -> Path:
    requirement = f"{source.name}=={source.version} --hash=sha256:{source.sha256}\n"
    (folder / "requirements.txt").write_text(requirement)
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", source.name)
    _run(source, (*pip, "--require-hashes", "-r", "requirements.txt", "-d", "archive"), folder)
    return next((folder / "archive").iterdir())


def _from_debian(source: Source, folder: Path) -> Path:
    # A private set of lists: the system's own sources.list and state are neither needed nor touched.
    state = user_cache_path("mlcb_gym") / "apt"
    (state / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    options = [
        *("-o", f"Dir::State::lists={state}/lists", "-o", f"Dir::Cache={state}"),
        *("-o", f"Dir::Etc::sourcelist={state}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null"),
        *("-o", "APT::Sandbox::User=", "-q"),
    ]

    _update(source, folder, state, options, anew=False)
    try:
        return _from_lists(source, folder, options)
    except ProgramError:
        _update(source, folder, state, options, anew=True)  # the lists may be older than the version
        return _from_lists(source, folder, options)


def _update(source: Source, folder: Path, state: Path, options: Sequence[str], *, anew: bool) -> None:
    """Fetch the lists of what Debian serves, where there are none or ``anew``."""
    with _UPDATING:
        if anew or not list((state / "lists").glob("*_Sources*")):
            (state / "sources.list").write_text(_DEBIAN)
            _run(source, ("apt-get", *options, "update"), folder)


def _from_lists(source: Source, folder: Path, options: Sequence[str]) -> Path:
    failed: ProgramError | None = None
    try:
        _run(source, ("apt-get", *options, "source", "--download-only", "--tar-only", source.name), folder)
    except ProgramError as error:
        failed = error  # perhaps by an archive that comes beside the one that is wanted
    archives = [file for file in folder.iterdir() if re.search(rf"_{re.escape(source.version)}(\.orig)?\.tar\.\w+$", file.name)]
    if not archives:
        raise failed or ProgramError(f"{source.name}: Debian 12 no longer serves version {source.version}")
    return archives[0]


def _run(source: Source, command: tuple[str, ...], folder: Path) -> None:
    try:
        done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, errors="replace", timeout=FETCH_SECONDS)
    except FileNotFoundError:
        raise ProgramError(f"{source.name}: {command[0]} not found, needed to fetch the {source.origin} source") from None
    except subprocess.TimeoutExpired:
        raise ProgramError(f"{source.name}: {Path(command[0]).name} cannot fetch {source.version}: not done within {FETCH_SECONDS:g} s") from None
    if done.returncode:
        errors = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        raise ProgramError(f"{source.name}: {Path(command[0]).name} cannot fetch {source.version}: {errors[-1]}")
