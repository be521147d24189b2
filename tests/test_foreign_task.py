# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A task that no tool has heard of: its environment is found by its class, and evaluated, searched and recorded all the same."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import pytest
import torch
from torch import Tensor, nn
from typer.testing import CliRunner

from mlcb_gym import _native, toolchain
from mlcb_gym.cli.main import app
from mlcb_gym.cli.task_options import env_parameters
from mlcb_gym.envs import env_class, environments
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.envs.objective import relative
from mlcb_gym.envs.record import TaskRecord
from mlcb_gym.errors import TaskError
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.export import write_policy
from mlcb_gym.policies import shipped
from mlcb_gym.search.decisions import read_decisions
from mlcb_gym.session import Session
from mlcb_gym.spec import TaskSpec
from mlcb_gym.testing import ScriptedCompiler

PROGRAMS = ("--programs", "embedded/validation/chacha20")


def declared(length: int) -> str:
    """The task, which stands in no ``.def``."""
    judge = {
        "name": "judge",
        "inputs": [{"name": "x", "dtype": "float32", "shape": [length]}],
        "advice": {"kind": "value", "name": "cycles"},
    }
    metrics: list[dict[str, Any]] = [{"name": name, "dtype": "int64", "shape": []} for name in ("size", "size_default")]
    return json.dumps({"task": "estimate", "parameters": {"length": length}, "agents": [judge], "metrics": metrics})


class Estimating(ScriptedCompiler):
    """A compiler of its own, with that task."""

    def configure(self, task: str, parameters: Mapping[str, Any]) -> TaskSpec:
        with closing(_native.Compiler.open("default:", declared(parameters["length"]))) as compiler:
            return TaskSpec(compiler.spec)


class EstimateEnv(CompilerEnv):
    """One number about a vector of numbers; the class says nothing else."""

    task = "estimate"
    parameters: ClassVar[tuple[str, ...]] = ("length",)

    def __init__(self, *, programs: Any = "embedded/train", length: int = 3, session: Session | None = None, **kwargs: Any) -> None:
        compiler = session or Estimating(horizon=2)
        super().__init__(programs=programs, parameters={"length": length}, objective=relative("size"), dense=False, session=compiler, **kwargs)


class Mean(nn.Module):
    """Of the numbers."""

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        return observation["x"].mean(dim=1, keepdim=True)


@pytest.fixture
def registered() -> Iterator[None]:
    gymnasium.register("Estimate-v0", entry_point=EstimateEnv)
    yield
    gymnasium.registry.pop("Estimate-v0")


def test_its_options_are_what_can_be_given_as_text(registered: None) -> None:
    assert list(env_parameters("estimate")) == ["dense", "forbidden", "length", "metrics", "sampling", "session", "verify"]


def mlcb(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_environment_that_is_registered_as_a_class_is_found_by_its_task(registered: None) -> None:
    assert environments()["estimate"] == "Estimate-v0"
    assert env_class("estimate") is EstimateEnv


def policy(folder: Path) -> Path:
    with closing(EstimateEnv()) as env:
        torch.manual_seed(1)
        return write_policy(Mean(), folder, spec=json.loads(env.task_spec.json), trained={}, results={})


def test_plugin_that_lacks_it_refuses_its_policy(tmp_path: Path) -> None:
    folder = policy(tmp_path / "policy")
    written = write_clang_config(tmp_path / "mlcb.cfg", [folder])
    (tmp_path / "empty.c").write_text("")
    clang = (toolchain.tool("clang"), f"--config={written}", "-Oz", "-c", "empty.c")
    ran = subprocess.run(clang, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    said = f"mlcb: onnx:{folder} is for estimate, a task that this plugin does not have: expected a plugin that was built with it"
    assert [line for line in ran.stderr.splitlines() if "mlcb" in line] == [f"error: {said}"]
    assert not (tmp_path / "empty.o").exists()


def test_task_without_a_record_is_evaluated_by_what_its_environment_is_about(registered: None, tmp_path: Path) -> None:
    folder = policy(tmp_path / "policy")
    done = mlcb("evaluate", "estimate", *PROGRAMS, "--policy", folder, "--best-of", "2", "--output", tmp_path / "out")
    assert done.exit_code == 0, done.output
    written = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert written["ratios"] == {"size": {method: [1.0] for method in ("policy", "policy, guarded", "default", "random, best of 2")}}


def test_task_without_a_record_is_recorded(registered: None, tmp_path: Path) -> None:
    done = mlcb("log", "record", "estimate", *PROGRAMS, "--policy", "random", "--length", "4", "--output", tmp_path / "x.log")
    assert done.exit_code == 0, done.output
    assert "2 decisions in 1 episodes" in done.output


def test_value_that_no_search_tries_is_named(registered: None, tmp_path: Path) -> None:
    done = mlcb("search", "estimate", *PROGRAMS, "--output", tmp_path)
    assert isinstance(done.exception, TaskError)
    assert str(done.exception).startswith("estimate: asks for a value")


def test_choices_of_a_task_without_a_record_are_searched_and_evaluated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(InlinerEnv, "record", TaskRecord())
    done = mlcb("search", "inliner", *PROGRAMS, "--decisions", "2", "--reward", "object", "--output", tmp_path / "decisions")
    assert done.exit_code == 0, done.output
    assert read_decisions(tmp_path / "decisions")
    done = mlcb("evaluate", "inliner", *PROGRAMS, "--policy", shipped()["inliner"], "--best-of", "1", "--output", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert list(json.loads((tmp_path / "out" / "evaluation.json").read_text())["ratios"]) == ["text"]
