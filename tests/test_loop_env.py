# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LoopDistribution-v0: two agents by turns, on the kernels and in any program."""

import io
import json
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from glob import glob
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import onnx
import pytest
import torch
from rich.console import Console

from mlcb_gym import toolchain
from mlcb_gym.agents.architecture import Architecture, model_config
from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import policy_network
from mlcb_gym.agents.team import Team
from mlcb_gym.corpus.loops.kernels import source
from mlcb_gym.corpus.loops.named import named
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.loop_distribution import LoopDistributionEnv
from mlcb_gym.envs.multi_agent import RllibMultiAgentEnv
from mlcb_gym.errors import CompilerError, NoDecisions, ProgramError, TaskError, TrainingError
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.export import export_policy, write_policy
from mlcb_gym.export.parity import check_parity, compare, greedy_observations
from mlcb_gym.rollout.network_policy import batch
from mlcb_gym.rollout.onnx_policy import OnnxPolicy, in_process
from mlcb_gym.rollout.random_policy import random_observations
from mlcb_gym.rollout.trace import geomean
from mlcb_gym.search.decisions import Decision, read_decisions, search_all
from mlcb_gym.search.strategies import search_in
from mlcb_gym.session import Limits, WorkerSession
from mlcb_gym.session.objects import object_metrics
from mlcb_gym.spec import acting_agent
from mlcb_gym.testing import check_compiler_env
from mlcb_gym.training.checkpoints import read_run
from mlcb_gym.training.imitation.behavioural_cloning import clone_heuristic
from mlcb_gym.training.imitation.distill import warm_start
from mlcb_gym.training.run import recipe
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.training_env import Environment
from tests.support.loop_policies import in_true_size

KERNEL = "loops/train/mixed_division"
AT_DEFAULT_LEVEL = (toolchain.tool("clang"), "-O2", "-Xclang", "-disable-llvm-passes", "-w", "-c")
"""Makes code as the environment measures it; -O3 would align more."""
Choose = Callable[[LoopDistributionEnv], int]


def at_random(seed: int) -> Choose:
    rng = np.random.default_rng(seed)
    return lambda env: int(rng.choice(np.flatnonzero(env.action_mask)))  # type: ignore[arg-type]


def always(env: LoopDistributionEnv) -> int:
    """As the nodes come, each a part of its own."""
    assert env.action_mask is not None
    return int(np.flatnonzero(env.action_mask)[0 if env.agent.name == "selector" else -1])


def never(env: LoopDistributionEnv) -> int:
    return int(env.default_action(env.observation))


def finish(env: LoopDistributionEnv, choose: Choose, program: str) -> tuple[float, dict[str, Any]]:
    """The return of an episode, and what is known at its end."""
    env.reset(options={"program": program})
    total, ended = 0.0, False
    while not ended:
        _, reward, terminated, truncated, info = env.step(choose(env))
        total, ended = total + reward, terminated or truncated
    return total, info


def test_splitting_nothing_is_what_the_pipeline_does(worker: WorkerSession) -> None:
    env = LoopDistributionEnv(programs=KERNEL, session=worker)
    total, info = finish(env, never, KERNEL)
    assert total == 0.0
    assert info["ratio"] == 1.0
    assert info["cost"] == info["cost_default"] > 0


def test_splitting_shows_in_what_is_measured(worker: WorkerSession) -> None:
    for metric in ("cost", "throughput", "text"):
        env = LoopDistributionEnv(programs=KERNEL, session=worker, reward=metric)
        total, info = finish(env, always, KERNEL)
        assert info[metric] != info[f"{metric}_default"]
        assert total == pytest.approx(1 - info["ratio"])


OWN = """
#include <stdlib.h>
float a[4096], b[4096], c[4096], d[4096];
int main(void) {
  for (int round = 0; round < 2000; round++)
    for (int i = 1; i < 4096; i++) {
      if (b[i] > 1.0f)
        a[i] = b[i] * c[i];
      d[i] = d[i - 1] * 0.5f + c[i] + (float)round;
    }
  exit(d[4095] > 1.0f ? 3 : 4);
}
"""


def measured(env: LoopDistributionEnv, choose: Choose, program: str) -> list[float]:
    """The ratios of three episodes: of run times, one may be another process's fault."""
    return [finish(env, choose, program)[1]["ratio"] for _ in range(3)]


@pytest.mark.alone
def test_time_is_that_of_the_program(worker: WorkerSession, tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text(OWN)
    for program in ("loops/train/guarded_store", str(tmp_path / "own.c")):  # which says itself what counts; all of main
        env = LoopDistributionEnv(programs=program, session=worker, reward="time")
        assert median(measured(env, never, program)) == pytest.approx(1.0, abs=0.3)
        assert median(measured(env, always, program)) < 0.8
        total, split = finish(env, always, program)
        assert total == pytest.approx(1 - split["ratio"])
        assert 0 < split["seconds"] < split["seconds_default"] < 1


def test_env_that_measures_time_conforms_and_says_that_it_does_not_repeat() -> None:
    env = gymnasium.make("LoopDistribution-v0", programs=KERNEL, reward="time")
    assert env.spec is not None
    assert env.spec.nondeterministic
    check_compiler_env(env)


UNTIMED = {
    "int f(void) { return 1; }": "program 'program.c' cannot be timed: it defines neither main nor double mlcb_seconds",
    "int main(void) { return *(volatile int *)0; }": "the program cannot be timed: it ends by a signal: Segmentation fault",
    "void g(void); int main(void) { g(); }": "program 'program.c' cannot be timed: .*Symbols not found: .*g",
    "double mlcb_seconds(void) { return 0; }": "the program cannot be timed: it does not return, or not with seconds above 0",
    "__attribute__((constructor)) void f(void) {} int main(void) {}": "program 'program.c' cannot be timed: it has constructors",
    "#include <unistd.h>\nint main(void) { _exit(0); }": "the program cannot be timed: it does not return",
}


@pytest.mark.parametrize("text", UNTIMED)
def test_program_that_cannot_be_timed_is_one_line(text: str, worker: WorkerSession, tmp_path: Path) -> None:
    assert_is_not_timed(text, UNTIMED[text], worker, tmp_path / "program.c")


@pytest.mark.slow
def test_program_that_runs_on_is_one_line(worker: WorkerSession, tmp_path: Path) -> None:
    assert_is_not_timed("int main(void) { for (volatile int i = 1; i;); }", "it takes more than 5 s", worker, tmp_path / "program.c")


def test_program_that_only_waits_is_ended_with_the_turn(worker: WorkerSession, tmp_path: Path) -> None:
    text = "#include <unistd.h>\nint main(void) { for (;;) pause(); }"
    assert_is_not_timed(text, "too long for one turn, during building", worker, tmp_path / "program.c", Limits(turn_seconds=2))


DAEMON = """
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      execlp("sleep", "sleep", "SECONDS", (char *)0);
      _exit(1);
    }
    _exit(0);
  }
  for (volatile int i = 0; i < 20000000; i++)
    ;
  WAITS;
  return 0;
}
"""


ENDINGS = (CompilerError, NoDecisions)  # it waits, or has no loop to distribute


def runs_with(argument: str) -> bool:
    """Whether a process was started with an argument."""
    lines = (Path(entry) / "cmdline" for entry in glob("/proc/[0-9]*"))
    return any(argument.encode() in line.read_bytes().split(b"\0") for line in lines if line.exists())


@pytest.mark.parametrize("waits", ["(void)0", "pause()"], ids=["ends", "is ended"])
def test_what_a_timed_program_leaves_running_ends_with_it(tmp_path: Path, waits: str) -> None:
    """In no sandbox, which lets it leave nothing."""
    seconds = str(10**6 + os.getpid())
    (tmp_path / "daemon.c").write_text(DAEMON.replace("SECONDS", seconds).replace("WAITS", waits))
    limits = Limits(turn_seconds=2)
    with closing(WorkerSession(sandbox="none")) as worker:
        env = LoopDistributionEnv(programs=tmp_path / "daemon.c", session=worker, reward="time", limits=limits)
        with closing(env), pytest.raises(ENDINGS):
            env.reset(options={"program": tmp_path / "daemon.c"})
        until = time.monotonic() + 5.0
        while runs_with(seconds) and time.monotonic() < until:
            pass
        assert not runs_with(seconds)


def assert_is_not_timed(text: str, why: str, worker: WorkerSession, program: Path, limits: Limits = Limits()) -> None:
    program.write_text(text)
    env = LoopDistributionEnv(programs=program, session=worker, reward="time", limits=limits)
    with pytest.raises(CompilerError, match=why) as caught:
        env.reset(options={"program": program})
    assert "\n" not in str(caught.value)
    env.close()


def test_brute_force_finds_what_a_kernel_is_worth(worker: WorkerSession, tmp_path: Path) -> None:
    env = LoopDistributionEnv(programs="loops/train/coupled_pair", session=worker)
    (found,) = search_all(search_in(env), env.programs, tmp_path)
    (read,) = read_decisions(tmp_path).values()
    for decisions in (found.decisions, read):
        first = decisions[0]
        assert first.taken == ()
        assert len(decisions) == 22
        assert sum(len(ends(decision, decisions)) for decision in decisions) == 24  # 3! orders, 2 * 2 cuts
        assert first.best == min(min(ends(decision, decisions), default=np.inf) for decision in decisions)
        assert first.outcomes.shape == (64,)
        assert all(decision.weight == 1 / 22 for decision in decisions)
        assert not set(first.observation) ^ {"agent", "selector", "distributor"}
    assert not list(search_all(search_in(env), env.programs, tmp_path))


def ends(decision: Decision, decisions: list[Decision]) -> list[float]:
    """Return the outcomes of the answers that no other decision follows."""
    followed = {each.taken for each in decisions}
    return [float(ratio) for action, ratio in enumerate(decision.outcomes) if np.isfinite(ratio) and (*decision.taken, action) not in followed]


def test_brute_force_draws_where_sequences_are_many(worker: WorkerSession) -> None:
    env = LoopDistributionEnv(programs="loops/train/seven_streams", session=worker)
    decisions = search_in(env, sequences=20)(env.programs[0])
    assert sum(len(ends(decision, decisions)) for decision in decisions) == 20
    assert decisions[0].outcomes.min() < 1.0 <= decisions[0].outcomes.max() or decisions[0].best <= 1.0


def test_every_kernel_of_a_split_survives_the_verifier_under_random_answers(worker: WorkerSession) -> None:
    env = LoopDistributionEnv(programs="loops/validation", session=worker, reward="none", verify=True)
    for seed, program in enumerate(env.programs):
        _, info = finish(env, at_random(seed), program.uri)
        assert "error" not in info


def test_agents_of_rllib_share_what_they_earn(worker: WorkerSession) -> None:
    env = RllibMultiAgentEnv(LoopDistributionEnv(programs=KERNEL, session=worker))
    observations, _ = env.reset(seed=1)
    earned, ended = dict.fromkeys(env.possible_agents, 0.0), False
    while not ended:
        ((name, observation),) = observations.items()
        observations, rewards, terminated, _, _ = env.step({name: int(np.flatnonzero(observation["action_mask"])[-1])})
        earned = {agent: earned[agent] + rewards.get(agent, 0.0) for agent in earned}
        ended = terminated["__all__"]
    assert earned["selector"] == earned["distributor"] != 0.0


def test_program_without_a_loop_leaves_nothing_to_decide(worker: WorkerSession, leaf: Path) -> None:
    with closing(LoopDistributionEnv(programs=leaf, session=worker)) as env, pytest.raises(NoDecisions):
        env.reset(options={"program": leaf})


def test_agents_may_do_without_embeddings(worker: WorkerSession) -> None:
    env = LoopDistributionEnv(programs=KERNEL, session=worker, dimension=0)
    observation, _ = env.reset(seed=1)
    assert "embedding" not in observation["selector"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reward": "speed"}, "reward='speed': expected one of cost, throughput, text, time, none"),
        ({"pipeline": ""}, "loop_distribution/pipeline: expected one that vectorizes"),
        ({"pipeline": "no-such-pass"}, "loop_distribution/pipeline: .*no-such-pass"),
        ({"forbidden": (0, 1)}, "forbidden=.0, 1.: expected the distributor's 0 or its 1, and not both"),
        ({"dense": True}, "dense=True: cost is known at the end alone"),
        ({"dimension": 7}, "loop_distribution/.*dimension"),
        ({"programs": "loops/train/none"}, "loops/train/none: no such program, expected loops, loops/SPLIT"),
        ({"programs": "loops/composed/few"}, "loops/composed/few: expected loops/composed/SEED or loops/composed/FIRST-LAST"),
    ],
)
def test_bad_argument_is_named(worker: WorkerSession, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TaskError, ProgramError), match=message):
        LoopDistributionEnv(**{"programs": KERNEL, "session": worker, **arguments})


def test_kernels_are_programs_by_name() -> None:
    splits = {split: resolve(f"loops/{split}") for split in ("train", "validation", "test")}
    assert {split: len(found) for split, found in splits.items()} == {"train": 104, "validation": 32, "test": 64}
    assert [program.uri for program in resolve("loops/composed/3-5")] == [f"loops/composed/{seed}" for seed in (3, 4, 5)]
    assert {program.project for found in splits.values() for program in found} >= {"mixed", "aliasing", "locality"}


@pytest.fixture(scope="module")
def policy(worker: WorkerSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Team, Path]:
    """Graph networks that were never trained, and the folder that they were exported to."""
    env = LoopDistributionEnv(programs=KERNEL, session=worker, reward="text")
    torch.manual_seed(2)
    network = policy_network(env.observation_space, env.action_space, NetworkConfig(hidden=(8,), final_gain=3.0), Architecture.of(env)).eval()
    assert isinstance(network, Team)
    folder = tmp_path_factory.mktemp("loops") / "policy"
    return network, write_policy(dict(network), folder, spec=json.loads(env.task_spec.json), trained={}, results={})


def test_graph_networks_decide_alike_in_torch_onnx_and_the_compilers_process(policy: tuple[Team, Path], worker: WorkerSession) -> None:
    network, folder = policy
    env = LoopDistributionEnv(programs="loops/validation", session=worker, reward="none")
    observations = greedy_observations(network, [env], env.programs)
    parity = compare(network, OnnxPolicy(folder), observations)
    assert parity.observations > 20
    assert parity.max_error < 1e-4
    assert parity.disagreements == 0
    assert in_process(f"onnx:{folder}", observations) == [OnnxPolicy(folder).advice(observation) for observation in observations]


def test_padding_changes_no_decision(policy: tuple[Team, Path], worker: WorkerSession) -> None:
    """A compiler sends graphs in their true size."""
    network, _ = policy
    env = LoopDistributionEnv(programs="loops/validation", session=worker, reward="none")
    observations = random_observations([env], env.programs, 16, 1)
    assert {int(observation["agent"]) for observation in observations} == {0, 1}
    for observation in observations:
        _, seen = acting_agent(observation)
        agent, cut = in_true_size(observation)
        nodes = len(cut["part"])
        assert 2 <= nodes < 64
        with torch.inference_mode():
            whole, exact = (list(network.values())[agent](batch([one]))[0] for one in (seen, cut))
        torch.testing.assert_close(whole[:nodes], exact[:nodes])


def test_clang_splits_as_the_environment_does(policy: tuple[Team, Path], worker: WorkerSession, tmp_path: Path) -> None:
    _, folder = policy
    decide = OnnxPolicy(folder)
    texts = []
    clang: list[str | Path] = [toolchain.tool("clang"), "-O3", "-w", "-c"]
    for kernel in named("loops/validation"):
        (tmp_path / "kernel.c").write_text(source([kernel]))
        program = tmp_path / f"{kernel.name}.bc"
        subprocess.run([*clang, "-Xclang", "-disable-llvm-passes", "-emit-llvm", tmp_path / "kernel.c", "-o", program], check=True, timeout=60)
        env = LoopDistributionEnv(programs=program, session=worker, reward="text")
        _, info = finish(env, lambda env: int(decide.advice(env.observation)), str(program))
        policy_in_clang = [f"-fpass-plugin={toolchain.plugin()}", "-mllvm", f"-mlcb-runner=onnx:{folder}"]
        subprocess.run([*clang, *policy_in_clang, "-emit-llvm", program, "-o", tmp_path / "split.bc"], check=True, timeout=60)
        subprocess.run([*AT_DEFAULT_LEVEL, tmp_path / "split.bc", "-o", tmp_path / "out.o"], check=True, timeout=60)
        texts.append((object_metrics(tmp_path / "out.o", ["text"])["text"], info["text"], info["text_default"]))
    assert all(own == seen for own, seen, _ in texts)
    assert any(own != default for own, _, default in texts)


def test_evolution_trains_both_agents_at_once(tmp_path: Path) -> None:
    kernel = "loops/train/mixed_scan_between"  # which is better split
    small = {"pairs": 4, "sigma": 1.0, "lr": 0.5, "programs": 1, "num_envs": 1, "statistics_episodes": 1, "network": {"hidden": [4]}}
    environment = Environment("LoopDistribution-v0", {"programs": kernel, "dimension": 0})
    console, budget = Console(file=io.StringIO()), Budget(iterations=3, validate_every=1)
    best = train(environment, recipe=recipe("es", small), validation=resolve(kernel), output=tmp_path / "run", budget=budget, console=console)
    progress = read_run(best)["progress"]
    assert progress["curve"][0]["ratio"] == 1.0
    assert progress["best_ratio"] < 0.9
    folder = export_policy(best, tmp_path / "policy")
    assert check_parity(best, folder, kernel).disagreements == 0
    for agent in ("selector", "distributor"):
        weights = onnx.load(folder / f"{agent}.onnx").graph.initializer
        assert onnx.numpy_helper.to_array(next(w for w in weights if w.name.endswith(".mean"))).any()


def test_rows_of_a_batch_go_to_the_agents_that_they_are_for(worker: WorkerSession) -> None:
    env = LoopDistributionEnv(programs=KERNEL, session=worker, dimension=0)
    config = model_config(env, hidden=[8], final_gain=1.0)
    module = MaskedPolicyGradient(
        observation_space=env.observation_space, action_space=env.action_space, model_config=config, inference_only=False
    ).eval()
    observations = random_observations([env], env.programs, 2, 1)
    assert {int(observation["agent"]) for observation in observations} == {0, 1}
    with torch.no_grad():
        (together, summaries), values = (
            module.rated(module.network, {"obs": batch(observations)}),
            module.compute_values({"obs": batch(observations)}),
        )
        each = [module.rated(module.network, {"obs": batch([one])}) for one in observations]
    assert torch.allclose(together, torch.cat([inputs for inputs, _ in each]))
    assert torch.allclose(summaries, torch.cat([summary for _, summary in each]))
    assert torch.equal(values, module.compute_values({"obs": batch(observations)}, embeddings=summaries))
    for inputs, observation in zip(together, observations, strict=True):
        mask = acting_agent(observation)[1]["action_mask"]
        assert set(torch.nonzero(inputs > -1e30).ravel().tolist()) == set(np.flatnonzero(mask).tolist())


def test_policy_gradients_train_both_agents_at_once(tmp_path: Path) -> None:
    kernel = "loops/train/mixed_division"  # which is better left whole
    small = {"steps_per_iteration": 64, "lr": 1e-2, "num_envs": 2, "statistics_episodes": 2, "network": {"hidden": [8], "final_gain": 1.0}}
    environment = Environment("LoopDistribution-v0", {"programs": kernel, "dimension": 0})
    console, budget = Console(file=io.StringIO()), Budget(iterations=4, validate_every=1)
    train(environment, recipe=recipe("ppo", small), validation=resolve(kernel), output=tmp_path / "run", budget=budget, console=console)
    first, *_, last = read_run(tmp_path / "run" / "last")["progress"]["curve"]
    assert first["ratio"] > 1.1
    assert last["ratio"] == 1.0
    folder = export_policy(tmp_path / "run" / "last", tmp_path / "policy")
    assert check_parity(tmp_path / "run" / "last", folder, kernel).disagreements == 0


def test_team_learns_what_brute_force_found(tmp_path: Path) -> None:
    kernels = ["loops/train/mixed_scan_between", "loops/train/coupled_pair", "loops/train/even_and_odd"]
    environment = Environment("LoopDistribution-v0", {"programs": kernels, "dimension": 0})
    with closing(LoopDistributionEnv(programs=kernels)) as env:
        found = list(search_all(search_in(env), env.programs, tmp_path / "decisions"))
    small = {"num_envs": 1, "network": {"hidden": [16, 16]}, "distillation": {"epochs": 100, "weight_decay": 0.0}}
    chosen = recipe("es", small)
    weights = warm_start(environment, chosen, tmp_path / "decisions")
    console, budget = Console(file=io.StringIO()), Budget(iterations=0)
    best = train(environment, recipe=chosen, validation=resolve(kernels), output=tmp_path / "run", budget=budget, weights=weights, console=console)
    reachable = geomean([each.decisions[0].best for each in found])
    assert reachable < 0.9
    assert read_run(best)["progress"]["best_ratio"] == pytest.approx(reachable, rel=0.01)


def test_decisions_of_another_embedding_are_named(tmp_path: Path) -> None:
    environment = Environment("LoopDistribution-v0", {"programs": KERNEL})
    with closing(LoopDistributionEnv(programs=KERNEL, dimension=0)) as env:
        list(search_all(search_in(env), env.programs, tmp_path))
    with pytest.raises(TrainingError, match="decisions of dimension=0, expected dimension=300"):
        warm_start(environment, recipe("es"), tmp_path)
    (tmp_path / "none").mkdir()
    with pytest.raises(TrainingError, match="no decisions, expected a folder that `mlcb search` wrote"):
        warm_start(environment, recipe("es"), tmp_path / "none")


def test_decisions_with_embeddings_teach_a_team_without(tmp_path: Path) -> None:
    with closing(LoopDistributionEnv(programs=KERNEL)) as env:
        list(search_all(search_in(env), env.programs, tmp_path))
    small = recipe("es", {"network": {"hidden": [16, 16]}, "distillation": {"epochs": 1}})
    assert warm_start(Environment("LoopDistribution-v0", {"programs": KERNEL, "dimension": 0}), small, tmp_path)


def test_recipe_that_learns_one_agent_says_so(tmp_path: Path) -> None:
    environment = Environment("LoopDistribution-v0", {"programs": KERNEL})
    with pytest.raises(TrainingError, match="asks several agents, which dqn does not learn, expected algorithm appo or es or impala or mlgo or ppo"):
        train(environment, recipe=recipe("dqn"), validation=resolve(KERNEL), output=tmp_path, budget=Budget(iterations=1))


def test_guard_of_loops_is_one_line_and_no_output(policy: tuple[Team, Path], tmp_path: Path) -> None:
    _, folder = policy
    (tmp_path / "kernel.c").write_text(source(named(KERNEL)))
    write_clang_config(tmp_path / "mlcb.cfg", [folder])
    command: list[str | Path] = [
        toolchain.tool("clang"),
        f"--config={tmp_path}/mlcb.cfg",
        "-mllvm",
        "-mlcb-guard",
        "-O3",
        "-w",
        "-c",
        tmp_path / "kernel.c",
        "-o",
        tmp_path / "out.o",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "-mlcb-guard: none for loop_distribution, expected no guard, or no policy for it" in done.stderr
    assert not (tmp_path / "out.o").exists()


def test_several_agents_are_not_cloned() -> None:
    with pytest.raises(TaskError, match="LoopDistribution-v0: asks several agents, which are not cloned"):
        clone_heuristic(Environment("LoopDistribution-v0", {"programs": KERNEL}), recipe("mlgo"))
