# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy for the register allocator: cloned from LLVM's own advisor, at work in stock compilers, and evaluated."""

import io
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from rich.console import Console
from torch import Tensor, nn

from mlcb_gym import toolchain
from mlcb_gym.agents.architecture import Architecture
from mlcb_gym.agents.columns import ColumnFeatures
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import LogitsNetwork
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs import env_class
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.eviction import EvictionEnv
from mlcb_gym.envs.priority import PriorityEnv
from mlcb_gym.envs.regalloc import COSTS_OF_FIRST_USE, PORTFOLIOS
from mlcb_gym.errors import MlcbError, TaskError, TrainingError
from mlcb_gym.evaluation.module_metrics import evaluate_metrics
from mlcb_gym.export.aot import compile_policy
from mlcb_gym.export.checkpoint import load_network
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.export import export_policy, write_policy
from mlcb_gym.export.parity import check_parity, compare
from mlcb_gym.rollout.network_policy import batch
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.rollout.play import observed, play_in_order
from mlcb_gym.rollout.random_policy import random_observations
from mlcb_gym.session import ModelServer, WorkerSession
from mlcb_gym.session.objects import object_metrics
from mlcb_gym.training.checkpoints import read_run
from mlcb_gym.training.imitation.behavioural_cloning import clone_heuristic
from mlcb_gym.training.recipe import Distillation
from mlcb_gym.training.run import recipe
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.training_env import Environment
from tests.support.allocation import CLANG, PROGRAM, ROUNDING, by_default, function_sizes, optimized, stock, without_minsize
from tests.support.asking import with_policy
from tests.support.command_line import assert_one_line, mlcb
from tests.support.episodes import finish


class HighestFirst(nn.Module):
    """Priorities by the weight of a range alone, in the units of LLVM's."""

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        return observation["weight"].clamp(max=1e6) * 1000


class Half(HighestFirst):
    """Of those priorities."""

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        return super().forward(observation) / 2


class NoNumber(nn.Module):
    """Priorities that are none."""

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        return observation["weight"] * torch.nan


def untrained(env: CompilerEnv) -> LogitsNetwork:
    torch.manual_seed(1)
    assert isinstance(env.observation_space, spaces.Dict)
    assert isinstance(env.action_space, spaces.Discrete)
    return LogitsNetwork(env.observation_space, env.action_space, NetworkConfig(hidden=(32,), final_gain=3.0), Architecture.of(env)).eval()


@pytest.fixture(scope="module")
def policies(worker: WorkerSession, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """One for each task, compiled ahead of time too."""
    made = {}
    for env in (EvictionEnv(programs=PROGRAM, session=worker), PriorityEnv(programs=PROGRAM, session=worker)):
        network = untrained(env) if env.num_actions else HighestFirst()
        folder = tmp_path_factory.mktemp(env.task) / "policy"
        made[env.task] = write_policy(network, folder, spec=json.loads(env.task_spec.json), trained={}, results={})
        compile_policy(folder, folder / "policy.so")
    return made


def test_a_column_is_rated_alike_wherever_it_stands(worker: WorkerSession) -> None:
    env = EvictionEnv(programs=PROGRAM, session=worker)
    network = untrained(env)
    assert isinstance(network.features, ColumnFeatures)
    seen = batch(random_observations([env], env.programs, 1, 1))
    order = torch.tensor([2, 0, 1, *range(3, 33)])
    moved = {name: value[:, order] if value.shape[1:] == (33,) else value for name, value in seen.items()}
    moved["eviction_default"] = order.argsort()[seen["eviction_default"]]
    torch.testing.assert_close(network(moved), network(seen)[:, order])


def test_clone_decides_as_llvm_does(worker: WorkerSession) -> None:
    environment = Environment("RegAllocEviction-v1", {"programs": [PROGRAM, "embedded/validation/huffman"]})
    weights = clone_heuristic(environment, recipe("mlgo"), config=Distillation(epochs=60, batch=32, weight_decay=0.0))
    env = EvictionEnv(programs="embedded/validation/max_flow", session=worker)
    own = {name.removeprefix("network."): value for name, value in weights.items() if name.startswith("network.")}
    network = LogitsNetwork(env.observation_space, env.action_space, recipe("mlgo").network, Architecture.of(env))
    network.load_state_dict(own)
    (seen,) = play_in_order([env], [observed(env.programs[0], by_default("eviction"))])
    tensors = batch(seen)
    with torch.inference_mode():
        chosen = network.eval()(tensors).masked_fill(tensors["action_mask"] == 0, -torch.inf).argmax(dim=1)
    assert chosen.tolist() == [int(one["eviction_default"].item()) for one in seen]


@pytest.mark.parametrize("scheme", ["onnx", "aot"])
@pytest.mark.parametrize("tool", ["llc", "clang"])
def test_stock_compiler_decides_as_the_environment_does(
    policies: Mapping[str, Path], worker: WorkerSession, tool: str, scheme: str, tmp_path: Path
) -> None:
    program = optimized(PROGRAM, tmp_path) if tool == "llc" else resolve(PROGRAM)[0].bitcode
    folder = policies["eviction"]
    uri = f"onnx:{folder}" if scheme == "onnx" else f"aot:{folder}/policy.so"
    subprocess.run(with_policy(stock(tool, program, tmp_path / "out.o"), uri), check=True)
    pipeline = "" if tool == "llc" else "default<O2>"
    decide = OnnxPolicy(folder)
    with closing(EvictionEnv(programs=program, session=worker, pipeline=pipeline, optsize=True)) as env:
        _, _, info = finish(env, lambda observation: int(decide.advice(observation)), program)
    assert info["ratio"] != 1.0
    assert object_metrics(tmp_path / "out.o", ["text"]) == {"text": info["text"]}


def compile_with(policies: Sequence[Path], output: Path, *, guard: bool = False, program: Path | None = None) -> str:
    """Return the remarks of clang when it compiles with policies."""
    config = output.with_suffix(".cfg")
    write_clang_config(config, policies, guard=guard)
    command = [CLANG, f"--config={config}", "-Rpass=mlcb", *stock("clang", program or resolve(PROGRAM)[0].bitcode, output)[1:]]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def test_other_priorities_are_other_decisions(policies: Mapping[str, Path], worker: WorkerSession) -> None:
    env, policy = PriorityEnv(programs=PROGRAM, session=worker), OnnxPolicy(policies["priority"])
    (seen,) = play_in_order([env], [observed(env.programs[0], by_default("priority"))])
    assert compare(HighestFirst(), policy, seen).disagreements == 0  # type: ignore[arg-type]
    assert compare(Half(), policy, seen).disagreements > len(seen) / 2  # type: ignore[arg-type]


def test_both_tasks_have_their_policies_at_once(policies: Mapping[str, Path], tmp_path: Path) -> None:
    objects = set()
    for name, chosen in (("none", []), ("one", ["eviction"]), ("other", ["priority"]), ("both", ["priority", "eviction"])):
        compile_with([policies[task] for task in chosen], tmp_path / f"{name}.o")
        objects.add((tmp_path / f"{name}.o").read_bytes())
    assert len(objects) == 4


REMARK = re.compile(r"policy: ([\d.]+), greedy: ([\d.]+); kept: policy in (\d+) of (\d+) functions, ([\d.]+)")


@pytest.fixture(scope="module")
def fast_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return without_minsize(PROGRAM, tmp_path_factory.mktemp("program") / "fast.bc")


@pytest.mark.parametrize("task", ["eviction", "priority"])
def test_guard_keeps_llvms_own_registers_in_functions_where_they_cost_less(
    policies: Mapping[str, Path], worker: WorkerSession, task: str, fast_program: Path, tmp_path: Path
) -> None:
    said = compile_with([policies[task]], tmp_path / "guarded.o", guard=True, program=fast_program)
    ((by_policy, by_greedy, kept, functions, cost),) = REMARK.findall(said)
    arguments: dict[str, Any] = {"reward": "cost_guarded", "optsize": True}
    with closing(env_class(task)(programs=fast_program, session=worker, **arguments)) as env:
        policy = OnnxPolicy(policies[task])
        _, _, info = finish(env, lambda seen: env.action(policy.advice(seen)))
    expected = [info[metric] for metric in ("executed", "executed_default", "executed_guarded")]
    assert [float(by_policy), float(by_greedy), float(cost)] == pytest.approx(expected, abs=1e-4)
    assert info["ratio"] == info["executed_guarded"] / info["executed_default"] <= 1
    compile_with([policies[task]], tmp_path / "policy.o", program=fast_program)
    compile_with([], tmp_path / "greedy.o", program=fast_program)
    mixed, asked, own = (function_sizes(tmp_path / f"{name}.o") for name in ("guarded", "policy", "greedy"))
    assert asked != own
    assert mixed != asked
    assert all(size in (asked[name], own[name]) for name, size in mixed.items())
    changed = sum(size != own[name] for name, size in mixed.items())
    assert 0 < changed <= int(kept) < int(functions) == len(mixed)


def test_guard_of_both_tasks_compares_them_together(policies: Mapping[str, Path], tmp_path: Path) -> None:
    alone = {REMARK.findall(compile_with([policy], tmp_path / "alone.o", guard=True))[0][0] for policy in policies.values()}
    ((by_policies, greedy, _, _, cost),) = REMARK.findall(compile_with(list(policies.values()), tmp_path / "guarded.o", guard=True))
    assert by_policies not in alone
    assert float(cost) <= float(greedy)


def test_guard_keeps_llvms_own_where_the_policy_fails(worker: WorkerSession, tmp_path: Path) -> None:
    env = PriorityEnv(programs=PROGRAM, session=worker)
    policy = write_policy(NoNumber(), tmp_path / "policy", spec=json.loads(env.task_spec.json), trained={}, results={})
    assert "policy: failed; kept: greedy" in compile_with([policy], tmp_path / "guarded.o", guard=True)
    compile_with([], tmp_path / "greedy.o")
    assert (tmp_path / "guarded.o").read_bytes() == (tmp_path / "greedy.o").read_bytes()


@pytest.mark.parametrize("beside", [[], ["eviction"]], ids=["alone", "beside a policy"])
def test_guard_asks_no_learner(policies: Mapping[str, Path], beside: Sequence[str], tmp_path: Path) -> None:
    asked: list[str] = []

    def model(agent: str, _: Mapping[str, np.ndarray]) -> int:
        asked.append(agent)
        return 0

    with ModelServer(f"pipe:{tmp_path}/learner", only="priority") as server:
        flags = ["-mlcb-guard", *(f"-mlcb-runner=onnx:{policies[task]}" for task in beside), f"-mlcb-runner={server.uri}"]
        asking = [f"-fpass-plugin={toolchain.plugin()}", *(part for flag in flags for part in ("-mllvm", flag))]
        command = [CLANG, *asking, *stock("clang", resolve(PROGRAM)[0].bitcode, tmp_path / "out.o")[1:]]
        compiler = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        with suppress(MlcbError):
            server.answer(model, seconds=60)
        _, said = compiler.communicate(timeout=60)
    assert (compiler.returncode, asked, (tmp_path / "out.o").exists()) == (1, [], False)
    assert said.splitlines()[0] == "error: mlcb: -mlcb-guard needs a policy in this process, as onnx:FOLDER: it asks twice"


@pytest.mark.parametrize(("task", "nulls"), [("eviction", {"never", "first"}), ("priority", {"same", "small first"})])
def test_policy_is_evaluated_against_llvm_and_what_does_not_look(policies: Mapping[str, Path], task: str, nulls: set[str], leaf: Path) -> None:
    evaluation = evaluate_metrics(policies[task], [PROGRAM, leaf], best_of=(1,))
    costs: Mapping[str, Sequence[Any]] = evaluation.ratios["cost"]
    methods = {"policy"} | nulls | {f"csr {cost}" for cost in COSTS_OF_FIRST_USE}
    guarded = {f"{method}, guarded" for method in methods} | {f"best of {count} fixed" for count in PORTFOLIOS}
    assert set(costs) == {"greedy", "random, best of 1"} | methods | guarded
    assert all(costs[f"{method}, guarded"][0] <= min(1, costs[method][0]) + ROUNDING for method in methods)
    assert all(ratios[1] == 1.0 for ratios in costs.values())
    assert costs["random, best of 1"][0] != 1.0
    assert not evaluation.failures
    assert np.isfinite(evaluation.estimates("policy")["cost"].mean)  # type: ignore[union-attr]


@pytest.mark.parametrize("task", ["RegAllocEviction-v1", "RegAllocPriority-v1"])
def test_evolution_begins_as_llvm_and_its_policy_decides_alike_everywhere(task: str, tmp_path: Path) -> None:
    es = recipe("es", {"pairs": 4, "sigma": 1.0, "programs": 1, "num_envs": 2, "lr": 0.3, "statistics_episodes": 2})
    console, budget = Console(file=io.StringIO()), Budget(iterations=2, validate_every=1)
    train(Environment(task, {"programs": PROGRAM}), recipe=es, validation=resolve(PROGRAM), output=tmp_path / "run", budget=budget, console=console)
    first, *_, last = read_run(tmp_path / "run" / "last")["progress"]["curve"]
    assert first["ratio"] == 1.0
    assert last["ratio"] != 1.0
    folder = export_policy(tmp_path / "run" / "last", tmp_path / "policy")
    parity = check_parity(tmp_path / "run" / "last", folder, PROGRAM, compiled=compile_policy(folder, tmp_path / "policy.so"))
    assert parity.observations > 10
    assert parity.disagreements == 0


def test_evolution_finds_weights_that_spill_less(tmp_path: Path) -> None:
    es = recipe("es", {"pairs": 8, "sigma": 0.3, "programs": 1, "num_envs": 2, "lr": 0.1, "statistics_episodes": 1})
    environment = Environment("RegAllocEviction-v1", {"programs": PROGRAM})
    console, budget = Console(file=io.StringIO()), Budget(iterations=3, validate_every=1)
    best = train(environment, recipe=es, validation=resolve(PROGRAM), output=tmp_path, budget=budget, console=console)
    assert read_run(best)["progress"]["best_ratio"] < 0.995


def test_policy_gradients_learn_a_value_and_end_where_the_compiler_is_asked_the_same(tmp_path: Path) -> None:
    small = {"steps_per_iteration": 256, "num_envs": 2, "statistics_episodes": 2, "lr": 1e-2, "network": {"hidden": [8]}}
    environment, console, budget = Environment("RegAllocPriority-v1", {"programs": PROGRAM}), Console(file=io.StringIO()), Budget(iterations=2)
    last = train(environment, recipe=recipe("ppo", small), validation=resolve(PROGRAM), output=tmp_path / "run", budget=budget, console=console)
    folder = export_policy(last, tmp_path / "policy")
    parity = check_parity(last, folder, PROGRAM)
    assert parity.observations > 10
    assert parity.disagreements == 0


def test_evolution_stays_where_nothing_makes_a_difference(leaf: Path, tmp_path: Path) -> None:
    es = recipe("es", {"pairs": 4, "programs": 1, "num_envs": 1, "statistics_episodes": 1})
    environment, (program,) = Environment("RegAllocPriority-v1", {"programs": str(leaf)}), resolve(leaf)
    console, budget = Console(file=io.StringIO()), Budget(iterations=1)
    last = train(environment, recipe=es, validation=[program], output=tmp_path / "run", budget=budget, console=console)
    assert not any(parameter.any() for parameter in load_network(last).parameters())


def test_recipe_that_learns_no_value_says_so(tmp_path: Path) -> None:
    environment = Environment("RegAllocPriority-v1", {"programs": PROGRAM})
    with pytest.raises(
        TrainingError, match="RegAllocPriority-v1: asks for a value, which dqn does not learn, expected algorithm es or impala or mlgo or ppo"
    ):
        train(environment, recipe=recipe("dqn"), validation=resolve(PROGRAM), output=tmp_path, budget=Budget(iterations=1))
    with pytest.raises(TaskError, match="RegAllocPriority-v1: asks for a value, which is not cloned"):
        clone_heuristic(environment, recipe("mlgo"))


def test_policy_that_could_not_be_compared_is_not_written(leaf: Path, tmp_path: Path) -> None:
    environment, console = Environment("RegAllocEviction-v1", {"programs": PROGRAM}), Console(file=io.StringIO())
    es = recipe("es", {"num_envs": 1, "statistics_episodes": 1})
    last = train(environment, recipe=es, validation=resolve(PROGRAM), output=tmp_path / "run", budget=Budget(iterations=0), console=console)
    done = mlcb("export", last, tmp_path / "policy", "--programs", leaf)
    assert_one_line(done, f"{leaf}: nothing is decided there, so nothing can be compared")
    assert [path.name for path in tmp_path.iterdir() if "policy" in path.name] == []
