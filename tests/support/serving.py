# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A running `mlcb serve`."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes import children

SECONDS = 20.0
SERVE = [sys.executable, "-m", "mlcb_gym", "serve"]


class Served:
    """A running `mlcb serve`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process, self.uri = process, process.stdout.readline().strip()

    def workers(self) -> list[int]:
        """pidfds of the workers and their children."""
        pids = [child for worker in children(self.process.pid) for child in (worker, *children(worker))]
        return [os.pidfd_open(pid) for pid in pids]


@contextmanager
def serving(uri: str = "grpc://127.0.0.1:0", *options: str, within: Sequence[str] = ()) -> Iterator[Served]:
    """A running `mlcb serve` with options, started by a command that runs commands: ``within``. Its sandbox is what the kernel has."""
    with subprocess.Popen([*within, *SERVE, uri, "--workers", "2", "--sandbox", "partial", *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Served(process)
        finally:
            process.terminate()
        assert process.wait(SECONDS) in (0, -signal.SIGKILL)  # a test may have killed it


def make_certificate(certificate: Path, key: Path, *options: str) -> None:
    """Writes a certificate that signs itself, and its key."""
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=mlcb"]
    subprocess.run([*request, *options, "-keyout", key, "-out", certificate], check=True, capture_output=True)
