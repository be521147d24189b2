# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The token of a server on loopback that was given none: in a file that its user alone reads, by the server's port, while it runs."""

import fcntl
import ipaddress
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from mlcb_gym.errors import TaskError

VARIABLE = "MLCB_TOKEN_FILE"


class LocalToken:
    """A new token, in a locked file. A context manager, which removes it.

    Raises:
        TaskError: there is no place for it, or others may open that.
    """

    def __init__(self) -> None:
        self.path = folder() / secrets.token_hex(8)
        try:
            _make_own(folder())
            _remove_stale(folder())
            self._file = os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w")
        except OSError as error:
            raise TaskError(f"{error.filename}: {error.strerror}: expected a place for the server's token, or token=FILE") from error
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._file.write(secrets.token_hex(16))
        self._file.flush()

    def publish(self, address: str) -> None:
        """Gives it the name by which clients of a server find it.

        Raises:
            TaskError: another server that runs has published its own for this port, of another address.
        """
        name = _file(address)
        if _is_alive(name):
            raise TaskError(f"{name}: the token of another server at this port, expected another port, or token=FILE")
        self.path = self.path.rename(name)

    def __enter__(self) -> "LocalToken":
        return self

    def __exit__(self, *_: object) -> None:
        self.path.unlink(missing_ok=True)
        self._file.close()


def needs_token(uri: str) -> bool:
    """Whether a URI is on loopback and comes without a token."""
    split = urlsplit(uri)
    return _is_loopback(split.hostname or "") and "token" not in parse_qs(split.query, keep_blank_values=True) and not os.environ.get(VARIABLE)


def with_token(uri: str) -> str:
    """Return the URI of a server with the token that it has published, where it needs one, runs, and is this user's."""
    file = _file(urlsplit(uri).netloc)
    return with_option(uri, "token", file) if needs_token(uri) and _is_own(folder()) and _is_alive(file) else uri


def with_option(uri: str, name: str, value: object) -> str:
    """Return a URI with one more option."""
    return f"{uri}{'&' if '?' in uri else '?'}{name}={value}"


def folder() -> Path:
    """Return the folder of tokens: in ``XDG_RUNTIME_DIR``, or else in that of temporary files, with the user's number."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "mlcb_gym" if runtime else Path(tempfile.gettempdir()) / f"mlcb_gym-{os.getuid()}"


def _file(address: str) -> Path:
    return folder() / f"{address.rpartition(':')[2]}.token"


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _make_own(made: Path) -> None:
    with suppress(FileExistsError):
        made.mkdir(mode=0o700)
    if not _is_own(made):
        raise TaskError(f"{made}: expected a folder that this user alone may open, for the server's token, or token=FILE")


def _is_own(made: Path) -> bool:
    with suppress(OSError):
        found = made.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return False


def _remove_stale(made: Path) -> None:
    """Remove what servers that were killed have left."""
    for file in made.glob("*.token"):
        if not _is_alive(file):
            file.unlink(missing_ok=True)


def _is_alive(file: Path) -> bool:
    """Whether the server runs that has locked its file."""
    with suppress(FileNotFoundError, PermissionError), file.open() as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
