# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Four agents that allocate registers: whatever they answer, the code is right; their heuristic is the allocator's own."""

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from mlcb_gym import toolchain
from mlcb_gym.agents.architecture import model_config
from mlcb_gym.agents.evolved import Evolved
from mlcb_gym.agents.heuristic import Heuristic
from mlcb_gym.corpus import corpora
from mlcb_gym.envs.record import Observation
from mlcb_gym.envs.regalloc import LLC
from mlcb_gym.envs.rl4real import RL4ReAlEnv, first, heuristic
from mlcb_gym.errors import CompilerError, TaskError, TrainingError
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.export import write_policy
from mlcb_gym.rollout.network_policy import greedy
from mlcb_gym.rollout.play import observed, play_in_order
from mlcb_gym.search.decisions import Decision
from mlcb_gym.search.strategies import search_in
from mlcb_gym.session import WorkerSession
from mlcb_gym.session.objects import object_metrics
from mlcb_gym.spec import AGENT, MASK, acting_agent
from mlcb_gym.training.imitation.distill import distill_agents
from mlcb_gym.training.run import recipe
from tests.support.allocation import CLANG, LLC_22, PROGRAM, optimized, stock
from tests.support.asking import compile_asking, with_policy
from tests.support.episodes import finish
from tests.support.known_output import OUTPUTS, compile_, run
from tests.support.tiles import TILES

AGENTS = ("selector", "tasker", "splitter", "colourer")
SAMPLE = "train/fft"
PUSH = 1.0
"""The cost of a push that aligns the stack, which no allocator foresees."""

SHARED = """
int make(int);
void take(int);
#define PART(I) if (in[I] > 7) { int value = make(I); make(value); if (in[I + 32] > 7) take(value); }
void parts(const int *in) { PART(1) PART(2) PART(3) PART(4) PART(5) PART(6) }
"""
CONSTANTS = """
#define MIX(X, C) ((X * (C * 1) ^ (C * 2)) + (X >> 3 | (C * 3)) * (C * 4) - (X & (C * 5)) * (C * 6) + (X ^ (C * 7)) * (C * 8))
void mix(unsigned *a, unsigned *b, int n, int m, int rounds) {
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < n; i++) a[i] = MIX(a[i], 0x9e3779b1u);
    for (int i = 0; i < m; i++) b[i] = MIX(b[i], 0x85ebca6bu);
  }
}
"""
RARE_CALL = """
long rare(float);
void clip(const float *in, short *out, int n) {
  for (int i = 0; i < n; i++) {
    float x = in[i] * 32768.0f;
    out[i] = x >= 32767.0f ? 32767 : x <= -32768.0f ? -32768 : __builtin_expect(x != 0.5f, 1) ? (short)x : (short)rare(x);
  }
}
"""
COLD_CALL = """
void grow(void *, long);
void put(void *, const char *, long);
int unescape(void *, const char *, long);
long copy(void *to, const char *text, long size) {
  long at = 0;
  while (at < size) {
    long from = at;
    while (at < size && text[at] != '&')
      at++;
    if (at > from) {
      if (__builtin_expect(from == 0, 0))
        grow(to, size);
      put(to, text + from, at - from);
    }
    if (at == size)
      break;
    at += 1 + unescape(to, text + at, size - at);
  }
  return at;
}
"""
PHASES = """
int first(int, int), second(int, int), third(int, int);
int phases(int a, int b, int c, int d, int e, int n) {
  int x = a, y = b, z = c, u = d, v = e;
  for (int i = 0; i < n; i++) {
    x += first(x, i);
    y ^= first(y, x);
  }
  for (int i = 0; i < n; i++) {
    z += second(z, i);
    u ^= second(u, z);
  }
  for (int i = 0; i < n; i++)
    v += third(v, i) + x;
  return x + y + z + u + v + a + b + c + d + e;
}
"""
CALLS_BETWEEN = """
int g(int);
int f(int a, int b, int c, int d, int e) {
  int x = g(a) + b;
  x = g(x) * c;
  x = g(x) ^ d;
  return g(x) - e + a;
}
"""
BIG_MULTIPLY = """
void f(unsigned long *to, const unsigned long *a, const unsigned long *b) {
  unsigned long a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
  to[0] = a0 * b0 + (a1 ^ b3) * (a2 + b2);
  to[1] = a0 * b1 + a1 * b0 + (a3 ^ b1) * a2;
  to[2] = a0 * b2 + a1 * b1 + a2 * b0 - b3;
  to[3] = a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0;
}
"""
FAR_APART = [
    "void twice(volatile int *p) {",
    *(f"int a{i} = p[{i}];" for i in range(20)),
    *(f"p[{i}] = (a{i} ^ {k}) * (a{i} + {k + 2}) - (a{i} << {k}) + a{i} / {k + 5};" for k in (1, 3) for i in range(20)),
    "}",
]


@pytest.fixture(scope="module")
def env() -> Iterator[RL4ReAlEnv]:
    with closing(RL4ReAlEnv(programs=PROGRAM, metrics=("size", "executed_guarded"), verify=True)) as made:
        yield made


class NoNumber(Heuristic):
    """Logits that are none."""

    def forward(self, observation: Mapping[str, Tensor]) -> Tensor:
        return super().forward(observation) * torch.nan


def write_heuristics(env: RL4ReAlEnv, folder: Path, **kinds: type[Heuristic]) -> Path:
    """A policy of agents that answer as the allocator's own heuristic, but for those of another kind."""
    networks = {agent.name: kinds.get(agent.name, Heuristic)("heuristic", agent.advice["choices"]) for agent in env.task_spec.agents}
    return write_policy(networks, folder, spec=json.loads(env.task_spec.json), trained={}, results={})


@pytest.fixture(scope="module")
def policy(env: RL4ReAlEnv, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_heuristics(env, tmp_path_factory.mktemp("policy") / "rl4real")


def randomly(seed: int) -> Any:
    drawn = np.random.default_rng(seed)

    def choose(observation: Observation) -> int:
        return int(drawn.choice(np.flatnonzero(acting_agent(observation)[1][MASK])))

    return choose


def test_heuristic_answers_are_the_allocators_own(env: RL4ReAlEnv, tmp_path: Path) -> None:
    _, _, info = finish(env, heuristic)
    module = optimized(PROGRAM, tmp_path)
    command = with_policy([LLC_22, *LLC, "-regalloc=mlcb", "-mlcb-regalloc-splits=4", module, "-o", tmp_path / "object.o"], "default:")
    subprocess.run(command, check=True, capture_output=True)
    with closing(RL4ReAlEnv(programs=str(module), pipeline="", optsize=True, metrics=("size",))) as same:
        _, _, of_module = finish(same, heuristic)
    assert of_module["size"] == object_metrics(tmp_path / "object.o", ["size"])["size"]
    assert info["executed"] > 0


@pytest.mark.parametrize("seed", range(3))
def test_random_answers_are_verified_and_guarded(env: RL4ReAlEnv, seed: int) -> None:
    _, steps, info = finish(env, randomly(seed))
    assert steps > 100
    assert info["executed_guarded"] <= info["executed_default"]


@pytest.mark.parametrize("text", [RARE_CALL, "\n".join(FAR_APART)], ids=["a loop with a rare call", "uses far apart in a block"])
def test_live_range_is_split_where_it_spares_loads(text: str, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(text)
    executed = {}
    for splits in (0, 4):
        with closing(RL4ReAlEnv(programs=tmp_path / "program.c", splits=splits, verify=True)) as made:
            executed[splits] = finish(made, heuristic)[2]["executed"]
    assert executed[4] < 0.4 * executed[0]


@pytest.mark.parametrize(
    ("text", "most"),
    [
        pytest.param(COLD_CALL, 1.0, id="a value that lives across a rare call"),
        pytest.param(PHASES, 0.6, id="loops of other values"),
        pytest.param(SHARED, 1.0, id="values that share a callee-saved register"),
        pytest.param(CONSTANTS, 0.96, id="constants of one loop make way in another"),
    ],
)
def test_live_range_has_a_register_where_one_is_free(text: str, most: float, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(text)
    with closing(RL4ReAlEnv(programs=tmp_path / "program.c", verify=True)) as made:
        info = finish(made, heuristic)[2]
    assert info["executed"] <= most * info["executed_default"]


def to_memory(observation: Observation) -> int:
    """Spill whatever may be spilled."""
    agent, seen = acting_agent(observation)
    return 2 if AGENTS[agent] == "tasker" and seen[MASK][2] else heuristic(observation)


def test_dense_rewards_add_up_to_the_final_one(worker: WorkerSession) -> None:
    returns = [finish(RL4ReAlEnv(programs=PROGRAM, session=worker, dense=dense), randomly(1))[0] for dense in (True, False)]
    assert returns[0] == pytest.approx(returns[1])
    assert returns[1] != 0


def test_dense_rewards_charge_most_spills_where_they_are_decided(worker: WorkerSession) -> None:
    env = RL4ReAlEnv(programs="embedded/train/fft", session=worker, dense=True)
    rewards = [reward for agent, action, reward in played(env, to_memory) if (agent, action) == ("tasker", 2)]
    assert np.mean([reward < 0 for reward in rewards]) > 0.5


def played(env: RL4ReAlEnv, choose: Callable[[Observation], int]) -> Iterator[tuple[str, int, float]]:
    """Yield the agent, the action and the reward of each step of an episode."""
    observation, _ = env.reset(seed=1)
    ended = False
    while not ended:
        agent, action = env.agent.name, choose(observation)
        observation, reward, ended, _, _ = env.step(action)
        yield agent, action, reward


@pytest.mark.alone
def test_time_is_that_of_the_program_by_these_registers(worker: WorkerSession) -> None:
    env = RL4ReAlEnv(programs="embedded/train/sha256", session=worker, reward="time")
    assert not env.deterministic
    total, _, spilled = finish(env, to_memory)
    assert total == pytest.approx(1 - spilled["ratio"])
    assert spilled["seconds"] > 1.2 * spilled["seconds_default"] > 0


def test_module_without_main_is_not_timed(worker: WorkerSession, tmp_path: Path) -> None:
    (tmp_path / "part.c").write_text(BIG_MULTIPLY)
    env = RL4ReAlEnv(programs=tmp_path / "part.c", session=worker, reward="time")
    with pytest.raises(CompilerError, match=r"cannot be timed: it defines neither main nor double mlcb_seconds"):
        env.reset(seed=1)


@pytest.mark.parametrize("text", [CALLS_BETWEEN, BIG_MULTIPLY], ids=["values over calls", "more values than registers"])
def test_no_random_answers_without_splits_are_better_than_the_optimum(text: str, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(text)
    metrics = ("executed_beside",)
    with closing(RL4ReAlEnv(programs=str(tmp_path / "program.c"), splits=0, beside="optimum", metrics=metrics, verify=True)) as env:
        found = [finish(env, randomly(seed))[2] for seed in range(40)]
        by_heuristic = finish(env, heuristic)[2]
    (optimum,) = {info["executed_beside"] for info in found}
    assert optimum <= min(info["executed"] for info in [*found, by_heuristic]) + PUSH
    assert optimum < np.median([info["executed"] for info in found])


def test_every_agent_acts_and_sees_only_what_it_may_choose(env: RL4ReAlEnv) -> None:
    acted = set()

    def choose(observation: Observation) -> int:
        number, seen = acting_agent(observation)
        acted.add(AGENTS[number])
        assert seen[MASK].sum() > 1
        assert seen[MASK][heuristic(observation)]
        return int(np.flatnonzero(seen[MASK])[-1])

    finish(env, choose)
    assert {"selector", "tasker", "colourer"} <= acted


def test_ranges_are_shown_the_densest_first(env: RL4ReAlEnv) -> None:
    observation, _ = env.reset(options={"program": PROGRAM})
    assert observation[AGENT] == AGENTS.index("selector")
    seen = observation["selector"]
    shown = seen[MASK].astype(bool)
    assert (np.diff(seen["density"][shown]) <= 0).all()
    assert not seen["density"][~shown].any()
    assert (seen["waiting"] <= seen["degree"]).all()


def test_sums_over_neighbours_are_those_of_the_others_where_all_live_at_once(tmp_path: Path) -> None:
    values = range(10)
    loads = "".join(f"long a{i} = p[{i}]; " for i in values)
    stores = "".join(f"p[{i}] = a{i}; " * (1 + i % 3) for i in reversed(values))
    (tmp_path / "program.c").write_text(f"void f(volatile long *p) {{ {loads} {stores} }}")
    asked: list[Mapping[str, Any]] = []

    def choose(observation: Observation) -> int:
        asked.append(observation)
        return heuristic(observation)

    with closing(RL4ReAlEnv(programs=tmp_path / "program.c")) as made:
        finish(made, choose)
    selector = [one["selector"] for one in asked if AGENTS[one[AGENT]] == "selector"]
    assert [seen[MASK].sum() for seen in selector] == [*range(len(values) + 1, 1, -1)]
    for seen in selector:
        shown = seen[MASK].astype(bool)
        others = shown.sum() - 1
        assert (seen["degree"][shown] == len(values)).all()
        assert (seen["waiting"][shown] == others).all()
        for sums, of in (("neighbour_density", "density"), ("neighbour_cost", "spill_cost")):
            own = seen[of][shown].astype(np.float64)
            np.testing.assert_allclose(seen[sums][shown], (own.sum() - own) / others, rtol=1e-5)


def scripted(answers: Sequence[int]) -> Any:
    """Give these answers, then the heuristic's."""
    remaining = iter(answers)
    return lambda observation: next(remaining, heuristic(observation))


def test_search_knows_what_another_answer_of_any_agent_comes_to(env: RL4ReAlEnv) -> None:
    searched = search_in(env, decisions=3)(env.programs[0])
    assert searched
    for decision in searched[:2]:
        _, seen = acting_agent(decision.observation)
        own, allowed = int(seen["heuristic"].item()), np.flatnonzero(seen[MASK])
        assert (np.flatnonzero(np.isfinite(decision.outcomes)) == allowed).all()
        assert decision.outcomes[own] == decision.ratio
        other = int(allowed[allowed != own][-1])
        assert finish(env, scripted([*decision.taken, other]))[2]["ratio"] == decision.outcomes[other]


def test_agents_learn_from_their_own_decisions(env: RL4ReAlEnv) -> None:
    (seen,) = play_in_order([env], [observed(env.programs[0], heuristic)])
    asked = [one for one in seen if AGENTS[one[AGENT]] == "tasker"]
    spill = np.array([1.0, np.inf, 0.9] + [np.inf] * 29)
    searched = [Decision((), one, 1.0, spill) for one in asked if one["tasker"][MASK][[0, 2]].all()]
    config = recipe("es", {"seed": 3, "network": {"hidden": [8]}})
    state = distill_agents([searched], env.task_spec, recipe=config, config=model_config(RL4ReAlEnv, config.network))
    module = Evolved(observation_space=env.observation_space, action_space=env.action_space, model_config=model_config(RL4ReAlEnv, config.network))
    module.load_state_dict(state)
    choose = greedy(module.network.eval(), env)
    assert {choose(decision.observation) for decision in searched} == {2}
    others = [one for one in seen if AGENTS[one[AGENT]] != "tasker"]
    assert [choose(one) for one in others] == [heuristic(one) for one in others]
    with pytest.raises(TrainingError, match="no decisions to learn from"):
        distill_agents([], env.task_spec, recipe=config, config={})


def test_same_answers_make_the_same_code(env: RL4ReAlEnv) -> None:
    once, again = (finish(env, randomly(5)) for _ in range(2))
    assert once[:2] == again[:2]
    assert (once[2]["size"], once[2]["executed"]) == (again[2]["size"], again[2]["executed"])


def test_clone_goes_on_as_its_original(env: RL4ReAlEnv) -> None:
    env.reset(options={"program": PROGRAM})
    for _ in range(20):
        env.step(first(env.observation))
    with closing(env.fork()) as clone:
        ends = []
        for each in (env, clone):
            ended = False
            while not ended:
                _, _, ended, _, info = each.step(first(each.observation))
            ends.append(info["executed"])
    assert ends[0] == ends[1]


@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_program_prints_the_same_whatever_a_model_answers(level: str, tmp_path: Path) -> None:
    drawn = np.random.default_rng(1)

    def model(agent: str, tensors: Any) -> int:
        return int(drawn.choice(np.flatnonzero(tensors[MASK])))

    (source,) = corpora.embedded(f"embedded/{SAMPLE}")[:1]
    compile_asking([*stock("clang", source, tmp_path / "program.o"), level], "rl4real", model, tmp_path)
    compile_(tmp_path / "program.o", "-lm", output=tmp_path / "program")
    assert run(tmp_path / "program") == OUTPUTS[SAMPLE]


def test_policy_that_answers_as_the_heuristic_makes_its_object(policy: Path, tmp_path: Path) -> None:
    module = optimized(PROGRAM, tmp_path)
    made = {}
    for uri in ("default:", f"onnx:{policy}"):
        command: list[str | Path] = [LLC_22, *LLC, "-regalloc=mlcb", "-mlcb-regalloc-splits=4", module, "-o", tmp_path / "object.o"]
        subprocess.run(with_policy(command, uri), check=True)
        made[uri] = (tmp_path / "object.o").read_bytes()
    assert len(set(made.values())) == 1
    subprocess.run([LLC_22, *LLC, module, "-o", tmp_path / "greedys.o"], check=True)
    assert (tmp_path / "greedys.o").read_bytes() not in made.values()


@pytest.mark.parametrize("agent", AGENTS)
def test_agent_whose_model_says_nan_fails_the_compilation(env: RL4ReAlEnv, agent: str, tmp_path: Path) -> None:
    policy = write_heuristics(env, tmp_path / "policy", **{agent: NoNumber})
    (tmp_path / "program.c").write_text(RARE_CALL)
    compile_(tmp_path / "program.c", "-O2", "-c", "-emit-llvm", output=tmp_path / "program.bc")
    command: list[str | Path] = [LLC_22, *LLC, "-regalloc=mlcb", tmp_path / "program.bc", "-o", tmp_path / "program.o"]
    done = subprocess.run(with_policy(command, f"onnx:{policy}"), check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"the model of agent '{agent}' says NaN for all that its mask allows, expected a number" in done.stderr
    assert not (tmp_path / "program.o").exists()


def test_clang_configures_tiles_before_a_policy_allocates(policy: Path, tmp_path: Path) -> None:
    config = write_clang_config(tmp_path / "mlcb.cfg", [policy])
    (tmp_path / "tiles.c").write_text(TILES)
    command: list[str | Path] = [CLANG, f"--config={config}", "-O2", "-mamx-int8", "-c", tmp_path / "tiles.c", "-o", tmp_path / "tiles.o"]
    subprocess.run(command, check=True)
    code = subprocess.run([toolchain.tool("llvm-objdump"), "-d", tmp_path / "tiles.o"], check=True, capture_output=True, text=True).stdout
    assert code.index("ldtilecfg") < code.index("tdpbssd")


@pytest.mark.parametrize("guard", [False, True])
def test_clang_allocates_by_a_policy_where_it_optimizes(policy: Path, guard: bool, tmp_path: Path) -> None:
    write_clang_config(tmp_path / "mlcb.cfg", [policy], guard=guard)
    (source,) = corpora.embedded(f"embedded/{SAMPLE}")
    command: list[str | Path] = [CLANG, f"--config={tmp_path / 'mlcb.cfg'}", "-Rpass=mlcb", source, "-lm", "-o", tmp_path / "program"]
    for level, decides in (("-O0", False), ("-O2", True)):
        said = subprocess.run([*command, level], check=True, capture_output=True, text=True).stderr
        assert ("policy: " if guard else "allocated ") in said or not decides
        assert decides or not said
        assert run(tmp_path / "program") == OUTPUTS[SAMPLE]


@pytest.mark.parametrize("option", ["-optimize-regalloc=0", "-regalloc=basic"])
def test_options_that_ask_for_another_allocator_are_heeded(option: str, policy: Path, tmp_path: Path) -> None:
    config = write_clang_config(tmp_path / "mlcb.cfg", [policy])
    (source,) = corpora.embedded(f"embedded/{SAMPLE}")
    for output, configured in (("ours.o", [f"--config={config}"]), ("stock.o", [])):
        subprocess.run([CLANG, *configured, "-O2", "-g", "-mllvm", option, "-c", source, "-o", tmp_path / output], check=True, cwd=tmp_path)
    assert (tmp_path / "ours.o").read_bytes() == (tmp_path / "stock.o").read_bytes()


def test_link_that_does_not_optimize_code_allocates_as_stock_does(policy: Path, tmp_path: Path) -> None:
    config = write_clang_config(tmp_path / "mlcb.cfg", [policy], lto=True)
    (source,) = corpora.embedded(f"embedded/{SAMPLE}")
    for output, configured in (("ours", [f"--config={config}"]), ("stock", ["-fuse-ld=lld"])):
        linked: list[str | Path] = ["-O2", "-flto", "-Wl,--lto-CGO0", "-lm", source, "-o", tmp_path / output]
        subprocess.run([CLANG, *configured, *linked], check=True, cwd=tmp_path)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "stock").read_bytes()
    assert run(tmp_path / "ours") == OUTPUTS[SAMPLE]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"compiler": "stock"}, "a stock compiler has no such allocator, expected 'plugin'"),
        ({"forbidden": [0]}, "an action means something else for each agent"),
        ({"episode": "function"}, "the agents take turns in whole modules, expected 'module'"),
        ({"splits": -1}, "splits"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(TaskError, match=said):
        RL4ReAlEnv(programs=PROGRAM, **arguments)
