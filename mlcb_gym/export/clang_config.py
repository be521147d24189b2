# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one flag of deployment: a configuration file that makes clang use policies."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import sha256
from math import floor
from pathlib import Path

from mlcb_gym import atomic, toolchain
from mlcb_gym.atomic import replacing
from mlcb_gym.errors import PolicyError
from mlcb_gym.export.deployed import Deployed, deployed, runner_uri
from mlcb_gym.onnx.manifest import files_of, read_manifest, replaceable
from mlcb_gym.regular_file import read_regular

BESIDE = "<CFGDIR>"
"""The folder of a configuration file, as clang and the plugin know it."""


def write_clang_config(
    path: Path,
    policies: Sequence[Path],
    *,
    guard: bool = False,
    candidates: int = 0,
    budget: float | None = None,
    jobs: int = 1,
    lto: bool = False,
    bundle: bool = False,
    trust: bool = False,
    uri: Callable[[Path], str] = runner_uri,
) -> Path:
    """Write a file for ``clang --config=FILE``, whole or not at all, and return its path.

    Args:
        path: the file; ``{digest}`` in its name becomes a digest of policies, options and plugin. For ``lto``, the plugin of the linker
            (``PATH.so``) and its options (``PATH.so.options``) come to lie beside it.
        policies: policy folders, or policies that `mlcb aot` compiled, each for another task.
        guard: keep LLVM's own result where that is better: see ``mlcb clang-config --help``.
        candidates: how many actions the guard tries instead of asking the policy, where it can (``TaskRecord.candidates``); implies ``guard``.
        budget: chooses ``candidates``: as many as take no more builds than this, stock's one and one of each candidate of each policy that has any.
            Work is counted, not time: every machine chooses the same. Policies that are only guarded are not counted.
        jobs: how many trials of the guard run at once; of make's jobserver each but one takes a slot.
        lto: where clang links, it does so by lld, and with -flto the policies decide there.
        bundle: copy the plugin, its vocabularies and the policies to the folder of the file, which names them relative to itself: the folder works
            wherever it lies, on machines without this package, too.
        trust: whether code of the policies, their custom operators, may run in the compiler.
        uri: from a policy, once all have been checked, to the URI of its runner.

    Raises:
        PolicyError: some are no policies, or have code that is not trusted, two are for one task, the guard cannot compare what one decides, none has
            candidates, a budget is too small for one or stands beside candidates, or there are jobs for no guard.
    """
    guard = guard or candidates > 0 or budget is not None
    if jobs > 1 and not guard:
        raise PolicyError(f"jobs={jobs}: only the guard tries several ways, expected it or candidates, or one job")
    chosen = deployed(policies, guard=guard, candidates=candidates, budget=budget, trust=trust)
    if budget is not None:
        candidates = _within(budget, sum(policy.has_candidates for policy in chosen))
    path.parent.mkdir(parents=True, exist_ok=True)
    place = partial(_copied, path.parent) if bundle else Path.absolute
    runners = [Path(uri(policy).partition(":")[2]) for policy in policies]
    if bundle and len({file.name for file in runners}) < len(runners):
        raise PolicyError(f"{', '.join(file.name for file in runners)}: expected policies of different names, to lie in one folder")
    options = [f"-mlcb-{name}={place(file)}" for name, file in _vocabularies(chosen).items()]
    options += [_runner(policy, file, place) for policy, file in zip(chosen, runners, strict=True)]
    options += _guarding(candidates, jobs) if guard else []
    one_thread = lto and (guard or any(policy.sets_options for policy in chosen))  # trials are forks, and options are one to all threads
    options += ["-mlcb-one-thread"] * one_thread
    digest = _digest(policies, options) if lto or "{digest}" in path.name else ""
    path = path.with_name(path.name.replace("{digest}", digest))
    plugin = place(toolchain.plugin())
    linking = [*_plugin_of_linker(path, plugin, options), *_key_of_cache(digest)] if lto else []
    linking += ["$-Wl,--thinlto-jobs=1"] * one_thread
    # Clang hands -mllvm itself to its assembler too, which loads no plugin.
    compiling = [
        f"-fpass-plugin={plugin}",
        "-Wno-error=backend-plugin",
        *(word for option in options + ["-mlcb-at-link"] * lto for word in ("-Xclang", "-mllvm", "-Xclang", option)),
    ]
    _write(path, map(_quoted, [*compiling, *linking]))
    return path


def _vocabularies(policies: Sequence[Deployed]) -> dict[str, Path]:
    """Return the vocabularies that policies may need, by the names that the plugin has for them: that of machine instructions where one names it."""
    named = [policy.vocabulary for policy in policies]
    return {name: toolchain.vocabulary(name) for name in toolchain.VOCABULARIES if name == "vocabulary" or toolchain.vocabulary_digest(name) in named}


def _within(budget: float, policies: int) -> int:
    """Return the most candidates for which stock's build and theirs, for each of so many policies, are within a budget.

    >>> _within(4, policies=1), _within(3, policies=2)
    (3, 1)
    """
    return (floor(budget) - 1) // policies


def _guarding(candidates: int, jobs: int) -> list[str]:
    """Return the options of the guard."""
    return [f"-mlcb-candidates={candidates}" if candidates else "-mlcb-guard", *([f"-mlcb-jobs={jobs}"] if jobs > 1 else [])]


def _runner(policy: Deployed, file: Path, place: Callable[[Path], Path | str]) -> str:
    """Return the option that names a policy's folder, or the file that it was compiled to; code of a folder runs where it is trusted."""
    kind, trust = ("onnx", "?trust=code" * policy.has_code) if file.is_dir() else ("aot", "")
    return f"-mlcb-runner={kind}:{place(file)}{trust}"


def _copied(folder: Path, file: Path) -> str:
    """Copy a file, or what a policy's folder names, whole or not at all; return its place as configurations name it."""
    copy = folder / file.name
    if copy.resolve() == file.resolve():
        return f"{BESIDE}/{file.name}"
    with replacing(replaceable(copy) if file.is_dir() else copy) as unfinished:
        if file.is_dir():
            unfinished.mkdir()
            for name in files_of(read_manifest(file)):
                (unfinished / name).write_bytes(read_regular(_own(file, name)))
        else:
            unfinished.write_bytes(read_regular(file))
    return f"{BESIDE}/{file.name}"


def _own(folder: Path, name: str) -> Path:
    """Return the path of a policy's file, which is no link out of its folder: others read a bundle."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise PolicyError(f"{path}: a link out of the policy's folder, expected a file of its own")
    return path


def _plugin_of_linker(path: Path, plugin: Path | str, options: Sequence[str]) -> list[str]:
    """Write a link to the plugin and its options beside a configuration; return the options that make clang link with them."""
    link = path.with_name(f"{path.name}.so")
    _write(link.with_name(f"{link.name}.options"), options)
    with replacing(link) as unfinished:
        unfinished.symlink_to(str(plugin).removeprefix(f"{BESIDE}/"))
    return ["-fuse-ld=lld", f"$-Wl,--load-pass-plugin={BESIDE}/{link.name}"]


def _key_of_cache(digest: str) -> list[str]:
    """Return an option that only keeps objects of other policies apart in the cache of a thin link: its key has LLVM's options, not ours."""
    return [f"$-Wl,-mllvm,-rng-seed={int(digest, 16)}"]


def _digest(policies: Sequence[Path], options: Sequence[str]) -> str:
    """Return what changes wherever anything that decides changes."""
    files = [file for policy in policies for file in ([policy] if policy.is_file() else [policy / name for name in files_of(read_manifest(policy))])]
    parts = ["\0".join(options).encode(), *(file.read_bytes() for file in [*files, toolchain.plugin()])]
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()[:12]


def _quoted(word: str) -> str:
    """Return a word of a command line as clang reads it from a configuration file."""
    return re.sub(r"""([\\\s'"])""", r"\\\1", word)


def _write(path: Path, lines: Iterable[str]) -> None:
    """Write lines, none of which a name of a file makes two."""
    written = list(lines)
    if broken := next((line for line in written if not line.isprintable()), None):
        raise PolicyError(f"{broken!r}: expected names of files without control characters")
    atomic.write(path, "".join(f"{line}\n" for line in written))
