# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts that are nearly right, for the readers that are written in Python: `make fuzz` reads them for a time, the tests a few.

python -m tests.support.mutants --seconds 600
"""

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mlcb_gym.corpus import compile_commands
from mlcb_gym.errors import MlcbError
from mlcb_gym.onnx.manifest import MANIFEST, read_manifest

SEEDS = Path(__file__).parents[1] / "fuzz" / "seeds"
ODD: list[Any] = [None, True, -1, 1e308, "", "\0", "\ud800", "..", "/", "'", "-o", "a/" * 3000, [], {}, [[]], {"": 0}]
"""Values in the place of others."""
DEEP = "[" * 100_000
"""More than a reader by recursion takes."""

READERS: dict[str, Callable[[Path], object]] = {
    "compile_commands": lambda folder: compile_commands.read(folder / "compile_commands.json"),
    "policy": read_manifest,
}
"""The readers by the folder of their seeds; each is given a folder with the file that it reads."""
FILES = {"compile_commands": "compile_commands.json", "policy": MANIFEST}


def mutants(reader: str, seed: int) -> Iterator[bytes]:
    """Yield the seeds of a reader, and then, without end, what a few changes make of them."""
    rng, seeds = random.Random(seed), [path.read_bytes() for path in sorted((SEEDS / reader).iterdir())]
    yield from [*seeds, DEEP.encode()]
    while True:
        text = rng.choice(seeds)
        for _ in range(rng.randint(1, 3)):
            text = rng.choice([_with_other_value, _with_other_bytes])(text, rng)
        yield text


def refusal(reader: str, text: bytes, folder: Path) -> str | None:
    """Return the error of a reader, None where it reads the text; any other exception than ours is a bug, and raised."""
    (folder / FILES[reader]).write_bytes(text)
    try:
        READERS[reader](folder)
    except MlcbError as error:
        return str(error)
    return None


def _with_other_value(text: bytes, rng: random.Random) -> bytes:
    """Replace a value anywhere in a JSON text by another one; a text that is no JSON stays."""
    try:
        whole = [json.loads(text)]
    except (ValueError, RecursionError):
        return text
    holder, key = rng.choice(list(_places(whole)))
    holder[key] = rng.choice(ODD)
    return json.dumps(whole[0]).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All values within a value, as what holds them and their key there."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _with_other_bytes(text: bytes, rng: random.Random) -> bytes:
    """Put a few bytes in the place of others."""
    begin = rng.randrange(len(text) + 1)
    return text[:begin] + rng.randbytes(rng.randint(0, 3)) + text[begin + rng.randint(0, 8) :]


def main() -> None:
    """Read mutants for a time, each reader's in turn; the first that is neither read nor refused is kept and raised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each reader")
    parser.add_argument("--seed", type=int, default=time.time_ns())
    asked = parser.parse_args()
    for reader in READERS:
        until, said = time.monotonic() + asked.seconds, Counter[bool]()
        with tempfile.TemporaryDirectory() as folder:
            for text in mutants(reader, asked.seed):
                said[_read(reader, text, Path(folder)) is None] += 1
                if time.monotonic() > until:
                    break
        print(f"{reader}: {said[True]} read, {said[False]} refused, seed {asked.seed}")


def _read(reader: str, text: bytes, folder: Path) -> str | None:
    try:
        return refusal(reader, text, folder)
    except BaseException as error:
        kept = Path("build") / f"{reader}-crash"
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(text)
        error.add_note(f"the text is in {kept}; it belongs in {SEEDS / reader}")
        raise


if __name__ == "__main__":
    main()
