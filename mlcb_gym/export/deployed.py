# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policies that one compiler has at once: what each is for, and whether they go together."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from mlcb_gym import _native
from mlcb_gym.envs import env_class, environments
from mlcb_gym.envs.record import TaskRecord
from mlcb_gym.errors import PolicyError, TaskError
from mlcb_gym.onnx.manifest import CODE, MANIFEST, read_manifest
from mlcb_gym.spec import bind


@dataclass(frozen=True)
class Deployed:
    """A policy folder, or a policy that `mlcb aot` compiled.

    Args:
        path: of the folder or the file.
        made: what its manifest, or the compiled policy, says: ``task``, ``parameters`` and more.
    """

    path: Path
    made: Mapping[str, Any]

    @property
    def task(self) -> str:
        """The task that it decides."""
        return str(self.made["task"])

    @property
    def record(self) -> TaskRecord:
        """The record of its task; of one that is not known here an empty one."""
        return env_class(self.task).record if self.task in environments() else TaskRecord()

    @property
    def has_code(self) -> bool:
        """Whether it has code of its own, which runs in the compiler."""
        return CODE in self.made

    @property
    def has_candidates(self) -> bool:
        """Whether it can be tried candidate by candidate."""
        return bool(self.record.candidates(self.made["parameters"])) or self.record.measured_candidates is not None

    @property
    def sets_options(self) -> bool:
        """Whether it sets options of LLVM."""
        return self.record.sets_options(self.made["parameters"])

    @property
    def vocabulary(self) -> str | None:
        """The digest of the vocabulary that it was taught with, if any."""
        return self.made["parameters"].get("vocabulary")


def runner_uri(policy: Path) -> str:
    """Return the URI of a policy's runner: ``onnx:`` of a folder, ``aot:`` of a compiled one.

    Raises:
        PolicyError: a URI cannot name it.
    """
    if "?" in str(policy.resolve()):
        raise PolicyError(f"{policy}: expected a path without '?', behind which a runner's options stand")
    return f"{'aot' if policy.is_file() else 'onnx'}:{policy.resolve()}"


def deployed(paths: Sequence[Path], *, guard: bool, candidates: int, budget: float | None, trust: bool) -> list[Deployed]:
    """Return the policies of paths, which go together; the options are those of ``write_clang_config``.

    Raises:
        PolicyError: names all that are no policies, not trusted, two for one task or in one place, or not for the guard; or what is wrong with the
            candidates.
    """
    policies, wrong = _read(paths)
    wrong += [fault for policy in policies for fault in _faults(policy, policies, guard, trust)]
    in_place = list(dict.fromkeys(policy.task for policy in policies if policy.record.in_place))
    if len(in_place) > 1 and not guard:
        wrong.append(f"{', '.join(in_place)}: each takes the place of the optimizations: expected one of them, or --guard, which compares them")
    wrong = wrong or _wrong_candidates(policies, candidates, budget)
    if wrong:
        raise PolicyError("; ".join(wrong))
    return policies


def _read(paths: Sequence[Path]) -> tuple[list[Deployed], list[str]]:
    """Return policies, and what is wrong with those that cannot be read."""
    policies, wrong = [], []
    for path in paths:
        try:
            policies.append(Deployed(path, _made(path)))
        except (PolicyError, _native.NativeError) as error:
            wrong.append(str(error))
    return policies, wrong


def _made(policy: Path) -> Mapping[str, Any]:
    """Return the task and the parameters of a policy folder or of a compiled policy."""
    if not policy.is_file():
        return _bound(read_manifest(policy), policy)
    with closing(_native.Compiler.open(runner_uri(policy))) as compiler:
        return dict(json.loads(compiler.spec))


def _bound(manifest: Mapping[str, Any], policy: Path) -> Mapping[str, Any]:
    """Return a manifest with all parameters of its task; the compiler refuses a task that is not known here."""
    if manifest["task"] not in _native.tasks():
        return manifest
    try:
        return {**manifest, "parameters": bind(manifest["task"], manifest["parameters"]).parameters}
    except TaskError as error:
        raise PolicyError(f"{policy / MANIFEST}: {error}") from error


def _faults(policy: Deployed, policies: Sequence[Deployed], guard: bool, trust: bool) -> list[str]:
    """Return what is wrong with a policy among others."""
    first = next(other for other in policies if other.task == policy.task)
    faults = []
    if first is not policy:
        faults.append(f"{policy.path}: decides about {policy.task}, as {first.path} does: expected one policy for each task")
    elif guard and not policy.record.guardable:
        faults.append(f"{policy.path}: the guard has no measure of {policy.task}: expected --no-guard, or no policy for it")
    if policy.has_code and not trust:
        faults.append(f"{policy.path}: its {CODE} are code, which would run in the compiler: expected --trust, or another policy")
    return faults


def _wrong_candidates(policies: Sequence[Deployed], candidates: int, budget: float | None) -> list[str]:
    """Return what is wrong with a number of candidates, or a budget for them, for policies of which some may be tried."""
    tried = [policy.task for policy in policies if policy.has_candidates]
    if budget is not None and candidates:
        return [f"budget={budget}, candidates={candidates}: a budget chooses the number of candidates, expected one of the two"]
    if not tried and (candidates or budget is not None):
        asked = f"candidates={candidates}" if budget is None else f"budget={budget}"
        return [
            f"{asked}: {', '.join(policy.task for policy in policies)} cannot be tried action by action: expected a policy that can, as function_size"
        ]
    if budget is not None and not (smallest := 1 + len(tried)) <= budget < inf:
        return [f"budget={budget}: expected a finite number, at least {smallest}: a build of stock and one of each of {', '.join(tried)}"]
    return []
