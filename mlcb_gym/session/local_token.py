# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The token of a server on loopback that was given none: by its address, in a file of its user alone, while it runs."""

import ipaddress
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from mlcb_gym.session.runtime_folder import TOKEN, RuntimeFile, folder, is_alive

VARIABLE = "MLCB_TOKEN_FILE"


def new_token() -> RuntimeFile:
    """Return a file with a new token.

    Raises:
        TaskError: there is no place for it, or others may open that.
    """
    made = RuntimeFile()
    made.write(secrets.token_hex(16))
    return made


def needs_token(uri: str) -> bool:
    """Whether a URI is on loopback and comes without a token."""
    try:
        split = urlsplit(uri)
    except ValueError:  # whoever opens it says what is wrong
        return False
    return _is_loopback(split.hostname or "") and "token" not in parse_qs(split.query, keep_blank_values=True) and not os.environ.get(VARIABLE)


def with_token(uri: str) -> str:
    """Return the URI of a server with the token that it has published, where it needs one, runs, and is this user's."""
    return with_option(uri, "token", _file(uri)) if published(uri) is not None else uri


def published(uri: str) -> int | None:
    """Return when the server of a URI that needs a token published it, in nanoseconds; None if none that runs has. One that comes back at the same
    address has another token in the same file."""
    if needs_token(uri) and is_alive(_file(uri)):
        with suppress(OSError):  # it ends now
            return _file(uri).stat().st_mtime_ns
    return None


def with_option(uri: str, name: str, value: Path) -> str:
    """Return a URI with one more option."""
    return f"{uri}{'&' if '?' in uri else '?'}{name}={value}"


def token_name(address: str) -> str:
    """Return the name by which clients of a server find its token: of the whole address, for at another with the same port may be somebody else.

    ``localhost`` is 127.0.0.1.
    """
    return f"{re.sub('^localhost:', '127.0.0.1:', address)}{TOKEN}"


def _file(uri: str) -> Path:
    return folder() / token_name(urlsplit(uri).netloc)


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
