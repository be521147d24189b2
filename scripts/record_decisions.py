# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Record the decisions of every policy that ships on fixed programs, and compare them with a record made before a change.

Usage: ``python -m scripts.record_decisions OUTPUT [--compare BEFORE]``, where ``mlcb corpus build default`` was run. About four minutes on two cores.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from mlcb_gym import _native
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs import env_class
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.errors import NoDecisions
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.spec import acting_agent

MODULES = ("default/train", "default/validation")
LOOPS = "loops/test"
MOST = 200
"""Modules taken at most, evenly from the sorted names."""

Outcome = dict[str, Any]


def programs(task: str) -> Sequence[Program]:
    """The fixed programs of a task."""
    found = sorted(resolve(LOOPS if task == "loop_distribution" else MODULES), key=lambda program: program.name)
    return found[:: max(len(found) // MOST, 1)][:MOST]


def record() -> dict[str, dict[str, Outcome]]:
    """By policy and program: what was decided, and what came of it."""
    return {name: record_policy(folder) for name, folder in shipped().items()}


def record_policy(folder: Path) -> dict[str, Outcome]:
    """What one policy decides on each program of its task, in the runner that a compiler would ask."""
    policy = OnnxPolicy(folder)
    chosen = programs(policy.task)
    runner = _native.Compiler.open(f"onnx:{folder}")
    with closing(runner), closing(env_class(policy.task)(programs=chosen, **policy.env_arguments)) as env:
        return {program.name: outcome(env, runner, program) for program in chosen}


def outcome(env: CompilerEnv, runner: _native.Compiler, program: Program) -> Outcome:
    """One episode: how many decisions, their digest, and the metrics at the end."""
    decisions: list[str] = []
    try:
        observation, info = env.reset(options={"program": program})
        ended = False
        while not ended:
            advice = runner.observe(*acting_agent(observation))
            decisions.append(rounded(advice))
            observation, _, terminated, truncated, info = env.step(env.action(advice))
            ended = terminated or truncated
    except NoDecisions:
        return {"decisions": 0}
    metrics = {name: rounded(value) for name, value in info.items() if isinstance(value, (int, float))}
    digest = sha256(" ".join(decisions).encode()).hexdigest()[:16]
    return {"decisions": len(decisions), "digest": digest, "metrics": metrics} | {k: info[k] for k in ("error",) if k in info}


def rounded(value: float) -> str:
    """An integer as it is, a float to six significant digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def differences(before: dict[str, dict[str, Outcome]], after: dict[str, dict[str, Outcome]]) -> list[str]:
    """A line for every policy and program whose outcome is another."""
    pairs = sorted({(policy, program) for one in (before, after) for policy, outcomes in one.items() for program in outcomes})
    found = ((policy, program, before.get(policy, {}).get(program), after.get(policy, {}).get(program)) for policy, program in pairs)
    return [f"{policy} {program}: {old} -> {new}" for policy, program, old, new in found if old != new]


def main() -> int:
    """Writes the record; 1 where it differs from the one before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--compare", type=Path, metavar="BEFORE")
    arguments = parser.parse_args()
    after = record()
    arguments.output.write_text(json.dumps(after, indent=1, sort_keys=True) + "\n")
    if arguments.compare is None:
        return 0
    found = differences(json.loads(arguments.compare.read_text()), after)
    print(*found, f"{sum(map(len, after.values()))} outcomes, {len(found)} differ", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
