# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The vocabulary of machine instructions: trained, read by the compiler, seen by a policy."""

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from mlcb_gym import toolchain
from mlcb_gym.agents.heuristic import Heuristic
from mlcb_gym.cli.main import app
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.rl4real import RL4ReAlEnv
from mlcb_gym.errors import TaskError
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.export import write_policy
from mlcb_gym.spec import MASK
from mlcb_gym.tools.vocabulary import NamedTriplet, count_machine_triplets, frequent
from tests.support.allocation import CLANG, PROGRAM
from tests.support.policies import forge

DIMENSION = 100


def test_shipped_one_has_the_instructions_of_a_program() -> None:
    vocabulary = json.loads(toolchain.vocabulary("machine-vocabulary").read_text())
    (program,) = resolve(PROGRAM)
    counts = count_machine_triplets([program.bitcode])
    known = sum(count for (opcode, _, _), count in counts.items() if opcode in vocabulary["Opcodes"])
    assert known > 0.98 * counts.total()
    assert {len(vector) for section in vocabulary.values() for vector in section.values()} == {DIMENSION}


def test_triplets_are_numbered_opcodes_first() -> None:
    seen: dict[NamedTriplet, int] = {("ADD", "GR32", 0): 2, ("ADD", "immediate", 4): 3, ("ADD", "RET", 1): 5, ("RARE", "ADD", 1): 1}
    opcodes, operands, numbered = frequent(Counter(seen), least=2)
    assert (opcodes, operands) == (["ADD", "RET"], ["GR32", "immediate"])
    assert numbered == {(0, 2, 0): 2, (0, 3, 4): 3, (0, 1, 1): 5}


def test_command_trains_one(tmp_path: Path) -> None:
    output = tmp_path / "mir.json"
    arguments = ["vocab", "train", str(output), "--of", "machine", "--programs", PROGRAM, "--dimension", "4", "--least", "1"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    vocabulary = json.loads(output.read_text())
    assert {"COPY", "MOV32rm"} <= set(vocabulary["Opcodes"])
    assert {"immediate", "block", "GR32"} <= set(vocabulary["Operands"])


@pytest.fixture(scope="module")
def env() -> Iterator[RL4ReAlEnv]:
    with closing(RL4ReAlEnv(programs=PROGRAM, dimension=DIMENSION)) as made:
        yield made


def test_every_live_range_that_is_shown_is_embedded(env: RL4ReAlEnv) -> None:
    observation, _ = env.reset(options={"program": PROGRAM})
    seen = observation["selector"]
    shown = seen[MASK].astype(bool)
    embeddings = seen["instruction_embedding"]
    assert embeddings.shape == (32, DIMENSION)
    assert embeddings[shown].any(axis=1).all()
    assert not embeddings[~shown].any()
    assert len(np.unique(embeddings[shown], axis=0)) > 5


@pytest.fixture(scope="module")
def policy(env: RL4ReAlEnv, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Agents that answer as the allocator's own heuristic."""
    networks = {agent.name: Heuristic("heuristic", agent.advice["choices"]) for agent in env.task_spec.agents}
    folder = tmp_path_factory.mktemp("policy") / "rl4real"
    return write_policy(networks, folder, spec=json.loads(env.task_spec.json), trained={}, results={})


@pytest.mark.parametrize("bundle", [False, True])
def test_clang_finds_it(bundle: bool, policy: Path, tmp_path: Path) -> None:
    done = compiled(policy, tmp_path, bundle=bundle)
    assert done.returncode == 0
    assert "allocated " in done.stderr
    assert (tmp_path / "configuration" / "mir-100d.json").exists() == bundle


def test_policy_of_another_one_is_refused(policy: Path, tmp_path: Path) -> None:
    other = forge(shutil.copytree(policy, tmp_path / "rl4real"), vocabulary="0" * 32)
    done = compiled(other, tmp_path)
    assert done.returncode
    assert f"rl4real/vocabulary: expected {'0' * 32}, the compiler has " in done.stderr
    with pytest.raises(TaskError, match="rl4real/dimension: 7, the compiler's vocabulary has 100"):
        RL4ReAlEnv(programs=PROGRAM, dimension=7)


def compiled(policy: Path, folder: Path, *, bundle: bool = False) -> subprocess.CompletedProcess[str]:
    """Clang's end, where it compiles a program with a policy."""
    config = write_clang_config(folder / "configuration" / "mlcb.cfg", [policy], bundle=bundle)
    (source,) = corpora.embedded(PROGRAM)
    command: list[str | Path] = [CLANG, f"--config={config}", "-Rpass=mlcb", "-O2", "-c", source, "-o", folder / "program.o"]
    return subprocess.run(command, check=False, capture_output=True, text=True)
