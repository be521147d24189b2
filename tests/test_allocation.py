# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The register allocator that asks: LLVM's own answers leave what LLVM leaves, any others a program that is right."""

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from mlcb_gym import TASKS as TASK_IDS
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import resolve
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.eviction import EvictionEnv, EvictionVectorEnv
from mlcb_gym.envs.priority import PriorityEnv
from mlcb_gym.envs.record import Action, Observation
from mlcb_gym.errors import NoDecisions, TaskError
from mlcb_gym.rollout.play import observed, play_in_order
from mlcb_gym.session import WorkerSession
from mlcb_gym.testing import check_compiler_env
from tests.support.allocation import CLANG, PROGRAM, by_default, optimized, stock
from tests.support.asking import compile_asking, with_policy
from tests.support.episodes import Choose, finish
from tests.support.known_output import CSMITH_FLAGS, CSMITH_PROGRAMS, OUTPUTS, compile_, csmith, run
from tests.support.making import making

SAMPLE = sorted(OUTPUTS)[::7]
NOTHING = 32
SPLIT = 2
"""The stage of live ranges that LLVM takes after all others."""
TASKS: dict[str, type[EvictionEnv | PriorityEnv]] = {"eviction": EvictionEnv, "priority": PriorityEnv}

Make = Callable[..., CompilerEnv]


@pytest.fixture
def make(worker: WorkerSession) -> Iterator[Make]:
    """Makes environments in one worker, and closes them."""
    with making(lambda task, **arguments: TASKS[task](**arguments), programs=PROGRAM, session=worker) as make:
        yield make


def at_random(task: str, seed: int = 1) -> Choose:
    rng = np.random.default_rng(seed)

    def choose(observation: Observation) -> Action:
        if task == "eviction":
            return int(rng.choice(np.flatnonzero(observation["action_mask"])))
        return rng.uniform(0, 1, 1).astype(np.float32)

    return choose


def test_env_conforms_in_stock_llc(tmp_path: Path) -> None:
    check_compiler_env(gymnasium.make("RegAllocEviction-v1", programs=optimized(PROGRAM, tmp_path), compiler="stock", pipeline=""))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", SAMPLE)
def test_llvms_own_answers_cost_what_llvm_costs(make: Make, task: str, name: str) -> None:
    earned, steps, info = finish(make(task), by_default(task), f"embedded/{name}")
    assert steps > 0
    assert earned == 0.0
    assert (info["executed"], info["text"], info["ratio"]) == (info["executed_default"], info["text_default"], 1.0)


@pytest.mark.parametrize("name", SAMPLE)
def test_spills_are_the_instructions_with_spill_slots(make: Make, name: str, tmp_path: Path) -> None:
    module = optimized(f"embedded/{name}", tmp_path)
    _, _, info = finish(make("eviction", pipeline="", optsize=True, metrics=("spills", "spills_default")), by_default("eviction"), str(module))
    command = [*stock("llc", module, Path("-")), "-stop-after=virtregrewriter"]
    code = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert info["spills"] == info["spills_default"] == 1 + sum(map(instructions_with_spill_slots, code.split("\n---\n")))


def instructions_with_spill_slots(function: str) -> int:
    """Of a function in LLVM's format of machine code."""
    slots = set(re.findall(r"- \{ id: (\d+), .*type: spill-slot", function))
    return sum(not slots.isdisjoint(re.findall(r"(?:into|from|on) %stack\.(\d+)", line)) for line in function.splitlines())


@pytest.mark.parametrize("session", ["pipe:", "shm:"])
@pytest.mark.parametrize("reward", ["cost", "throughput"])
@pytest.mark.parametrize("task", TASKS)
def test_opt_is_measured_as_the_worker_is(make: Make, task: str, reward: str, session: str) -> None:
    seen = [finish(env, at_random(task))[:2] for env in (make(task, reward=reward), make(task, reward=reward, session=session))]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("tool", ["llc", "clang"])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", SAMPLE[:2])
def test_object_of_llvms_own_answers_is_stock_to_the_byte(task: str, name: str, tool: str, tmp_path: Path) -> None:
    assert_identical(f"embedded/{name}", task, tool, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["llc", "clang"])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", sorted(OUTPUTS))
def test_object_of_llvms_own_answers_is_stock_to_the_byte_on_all_programs(task: str, name: str, tool: str, tmp_path: Path) -> None:
    assert_identical(f"embedded/{name}", task, tool, tmp_path)


def assert_identical(uri: str, task: str, tool: str, folder: Path) -> None:
    program = optimized(uri, folder) if tool == "llc" else resolve(uri)[0].bitcode
    assert asked(program, task, by_default(task), stock(tool, program, folder / "asked.o"), folder) > 0
    subprocess.run(stock(tool, program, folder / "stock.o"), check=True)
    assert (folder / "asked.o").read_bytes() == (folder / "stock.o").read_bytes()


def asked(program: Path, task: str, choose: Choose, command: Sequence[str | Path], folder: Path) -> int:
    """Compiles in a stock tool with the plugin, which asks a server here; how often it asked."""
    count = 0

    def model(agent: str, tensors: Any) -> int | float:
        nonlocal count
        count += 1
        answer = np.asarray(choose(tensors)).item()
        return answer * 2.0**32 if task == "priority" else answer

    compile_asking(command, task, model, folder)
    return count


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", SAMPLE)
def test_program_prints_the_same_whatever_is_decided(task: str, name: str, tmp_path: Path) -> None:
    assert printed(corpora.embedded(f"embedded/{name}")[0], task, tmp_path, episodes=1) == {OUTPUTS[name]}


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", sorted(OUTPUTS))
def test_every_program_prints_the_same_after_20_random_episodes(task: str, name: str, tmp_path: Path) -> None:
    assert printed(corpora.embedded(f"embedded/{name}")[0], task, tmp_path, episodes=20) == {OUTPUTS[name]}


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("index", range(CSMITH_PROGRAMS))
def test_csmith_program_prints_the_same_after_20_random_episodes(task: str, index: int, tmp_path: Path) -> None:
    source, expected = csmith(index, tmp_path)
    assert printed(source, task, tmp_path, episodes=20, flags=CSMITH_FLAGS) == {expected}


def printed(source: Path, task: str, folder: Path, *, episodes: int, flags: Sequence[str] = ()) -> set[str]:
    """Return the outputs of the program after each of several random episodes in `llc`."""
    compile_(source, "-O2", "-c", "-emit-llvm", *flags, output=folder / "program.bc")
    command = stock("llc", folder / "program.bc", folder / "program.o")
    outputs = set()
    for seed in range(episodes):
        asked(folder / "program.bc", task, at_random(task, seed), command, folder)
        compile_(folder / "program.o", output=folder / "program")
        outputs.add(run(folder / "program"))
    return outputs


@pytest.mark.parametrize("task", TASKS)
def test_allocation_of_random_answers_passes_llvms_verifier(make: Make, task: str) -> None:
    _, _, info = finish(make(task, verify=True), at_random(task))
    assert info["ratio"] != 1.0


@pytest.mark.parametrize("task", TASKS)
def test_dense_rewards_add_up_to_the_final_one(make: Make, task: str) -> None:
    dense, final = (finish(make(task, dense=dense), at_random(task)) for dense in (True, False))
    assert (dense[1], dense[2]["ratio"]) == (final[1], final[2]["ratio"])
    assert dense[0] == pytest.approx(final[0])
    assert final[0] != 0


@pytest.mark.parametrize(("about", "cost"), [("executed", "executed"), ("allocated", "cost")])
@pytest.mark.parametrize("task", TASKS)
def test_functions_of_a_module_are_episodes_of_their_own(make: Make, task: str, about: str, cost: str) -> None:
    default = f"{cost}_default"
    _, steps, whole = finish(make(task, cost=about), at_random(task))
    env, choose = make(task, episode="function", cost=about), at_random(task)
    functions, played = [], 0
    observation, _ = env.reset(options={"program": PROGRAM})
    while played < steps:
        ended = False
        while not ended:
            observation, reward, ended, _, info = env.step(choose(observation))
            played += 1
        assert reward == pytest.approx((info[default] - info[cost]) / (info[default] or 1.0))
        functions.append(info)
        observation, _ = env.reset()
    assert played == steps
    assert len(functions) > 1
    saved = sum(info[default] - info[cost] for info in functions)
    assert saved == pytest.approx(whole[default] - whole[cost])


CALLS = "int g(int); int f(int a, int b) { int x = g(a); int y = g(b); return x + y + a * b; }"
EARLY = "int g(int); int f(int a, int b) { if (__builtin_expect(a == 0, 1)) return b; return g(b) + g(a) + b; }"
TARGETS = {"x86_64": (r"push", r"pop", r"mov"), "aarch64": (r"st[pr]", r"ld[pr]", r"mov\tw"), "riscv64": (r"sd", r"ld", r"mv")}
"""The instructions of each architecture that store, load and copy registers."""


def costs(source: str, architecture: str, folder: Path) -> dict[str, float]:
    """The metrics of a function as LLVM allocates it, and its instructions of each kind."""
    (folder / "source.c").write_text(source)
    target: list[str | Path] = [f"--target={architecture}-linux-gnu", "-O2", folder / "source.c"]
    subprocess.run([CLANG, *target, "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "-o", folder / "source.bc"], check=True)
    text = subprocess.run([CLANG, *target, "-S", "-o", "-"], check=True, capture_output=True, text=True).stdout
    counts = [len(re.findall(rf"^\t{kind}", text, re.MULTILINE)) for kind in TARGETS[architecture]]
    metrics = ("cost", "cost_default")
    with closing(PriorityEnv(programs=folder / "source.bc", optsize=True, metrics=metrics)) as env:
        info = finish(env, by_default("priority"))[2]
    return info | dict(zip(("stores", "loads", "copies"), counts, strict=True))


@pytest.mark.parametrize("architecture", TARGETS)
def test_what_is_executed_are_copies_saves_and_restores(architecture: str, tmp_path: Path) -> None:
    of = costs(CALLS, architecture, tmp_path)
    assert of["stores"] == of["loads"] >= 3
    assert of["executed"] == pytest.approx(0.2 * of["copies"] + of["stores"] + 4 * of["loads"])
    assert of["cost"] < 2  # no register is spilled


def test_saves_behind_an_early_exit_count_as_often_as_they_run(tmp_path: Path) -> None:
    early, always = (costs(source, "x86_64", tmp_path) for source in (EARLY, EARLY.replace("a == 0, 1", "a == 0, 0")))
    assert early["stores"] == always["stores"] > 0
    assert early["executed"] < 0.1 * always["executed"]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
def test_first_version_is_about_the_cost_of_allocation(worker: WorkerSession, task: str) -> None:
    first, newest = (f"RegAlloc{task.capitalize()}-v{version}" for version in (0, 1))
    assert TASK_IDS[task] == newest
    envs: list[Any] = [gymnasium.make(env_id, programs=PROGRAM, session=worker) for env_id in (first, newest)]
    made = [finish(env, at_random(task)) for env in envs]
    assert [info["ratio"] for *_, info in made] == [
        made[0][2]["cost"] / made[0][2]["cost_default"],
        made[1][2]["executed"] / made[1][2]["executed_default"],
    ]
    assert made[0][2]["ratio"] != made[1][2]["ratio"]


def test_function_that_is_through_takes_no_more_advice(make: Make) -> None:
    env, ended = make("eviction", episode="function"), False
    first, _ = env.reset(seed=1)
    observation = first
    while not ended:
        observation, _, ended, _, _ = env.step(by_default("eviction")(observation))
    for call in (lambda: env.step(NOTHING), env.fork):
        with pytest.raises(gymnasium.error.ResetNeeded):
            call()
    np.testing.assert_equal(env.reset(seed=1)[0], first)


def test_functions_are_episodes_of_a_vector_environment(worker: WorkerSession) -> None:
    with closing(EvictionVectorEnv(num_envs=2, programs=PROGRAM, episode="function", session=worker)) as envs:
        observation, _ = envs.reset(seed=1)
        ends = 0
        for _ in range(200):
            observation, _, terminated, _, infos = envs.step(observation["eviction_default"].reshape(-1))
            ends += int(terminated.sum())
            assert (infos["ratio"][terminated] == 1.0).all() if terminated.any() else "ratio" not in infos
        assert ends > 2


@pytest.mark.parametrize("reward", ["text", "throughput"])
def test_return_is_what_is_saved_in_units_of_the_default(make: Make, reward: str) -> None:
    earned, _, info = finish(make("eviction", reward=reward), at_random("eviction"))
    assert earned == pytest.approx((info[f"{reward}_default"] - info[reward]) / info[f"{reward}_default"])
    assert earned != 0


def test_fork_goes_on_independently(make: Make) -> None:
    env = make("eviction")
    env.reset()
    with closing(env.fork()) as clone:
        ratios = []
        for one, choose in ((env, by_default("eviction")), (clone, at_random("eviction"))):
            ended = False
            while not ended:
                _, _, ended, _, info = one.step(choose(one.observation))
            ratios.append(info["ratio"])
    assert ratios[0] == 1.0 != ratios[1]


def test_both_compilers_see_the_same_and_make_the_same(make: Make, tmp_path: Path) -> None:
    program = optimized(PROGRAM, tmp_path)
    plugin = make("eviction", pipeline="", optsize=True, reward="text")
    seen: list[list[Observation]] = [[], []]
    made = []
    with closing(EvictionEnv(programs=program, pipeline="", compiler="stock")) as untouched:
        for env, observations in zip((plugin, untouched), seen, strict=True):
            choose = at_random("eviction")

            def record(observation: Observation, choose: Choose = choose, into: list[Observation] = observations) -> Action:
                into.append({name: value.copy() for name, value in observation.items() if name != "eviction_default"})
                return choose(observation)

            made.append(finish(env, record, program))
    np.testing.assert_equal(seen[0], seen[1])
    assert made[0][:2] == made[1][:2]
    assert {name: made[0][2][name] for name in ("text", "size")} == {name: made[1][2][name] for name in ("text", "size")}


def observations(env: CompilerEnv, program: str | Path = PROGRAM) -> list[Observation]:
    """All that LLVM's own priorities meet with."""
    (seen,) = play_in_order([env], [observed(resolve(program)[0], by_default("priority"))])
    return seen


def test_priority_is_told_what_llvms_own_is_made_of(make: Make) -> None:
    seen = observations(make("priority"))
    names = ("priority_default", "stage", "hinted", "local", "remaining")
    own = [[int(observation[name].item()) for name in names] for observation in seen]
    for priority, stage, hinted, local, remaining in own:
        assert (priority < 2**31) == (stage == SPLIT)
        if stage != SPLIT:
            assert bool(priority & 2**30) == hinted
            assert bool(priority & 2**29) >= (not local)  # large local ranges count as global
        if stage != SPLIT and not priority & 2**29:
            assert abs(priority % 2**24 - remaining) <= 2**8  # a float of that size knows no less
    assert {stage == SPLIT for _, stage, *_ in own} == {hinted for _, _, hinted, *_ in own} == {local for *_, local, _ in own} == {0, 1}
    assert max(remaining for *_, remaining in own) > 2**10


def test_priority_is_told_the_calls_that_a_range_lives_across_and_what_is_live(make: Make, tmp_path: Path) -> None:
    three = "int f(int a) { g(1); g(2); return g(a) + a; }"
    one = "int h(int a) { int x = g(a); g(1); return x; }"
    (tmp_path / "calls.c").write_text(f"int g(int); {three} {one}")
    seen = observations(make("priority"), tmp_path / "calls.c")
    assert {o["calls"].item() for o in seen} == {0, 1, 3}
    live = [round(o["pressure"].item() * o["registers"].item(), 2) for o in seen]
    assert len(set(live)) == 2  # functions
    assert all(0.5 < count < 1.5 for count in live)


def test_barred_column_is_masked(make: Make) -> None:
    observation, _ = make("eviction", forbidden=[NOTHING]).reset()
    assert observation["action_mask"][NOTHING] == 0
    assert observation["action_mask"].any()


def test_masked_column_ends_the_episode_and_does_not_reach_the_compiler(make: Make) -> None:
    env = make("eviction")
    observation, _ = env.reset()
    masked = int(np.flatnonzero(observation["action_mask"] == 0)[0])
    _, reward, terminated, truncated, info = env.step(masked)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert f"illegal action {masked}" in info["error"]


@pytest.mark.parametrize("value", [np.nan, -1.0, np.inf])
def test_priority_that_is_none_ends_the_episode(make: Make, value: float) -> None:
    env = make("priority")
    env.reset()
    _, reward, terminated, _, info = env.step(np.array([value], np.float32))
    assert (reward, terminated) == (-1.0, True)
    assert "illegal action" in info["error"]


@pytest.mark.parametrize(("advice", "nearest"), [(-5.0, 0.0), (-np.inf, 0.0), (2.0**31, 0.5), (2.0**40, 1.0), (np.inf, 1.0)])
def test_priority_of_a_policy_counts_as_the_nearest_that_there_is(make: Make, advice: float, nearest: float) -> None:
    assert make("priority").action(advice) == nearest


def test_policy_whose_output_is_negative_is_played(make: Make) -> None:
    env = make("priority")
    assert finish(env, lambda _: env.action(-1.0)) == finish(env, lambda _: np.zeros(1, np.float32))


def test_priority_that_is_no_number_stays_illegal(make: Make) -> None:
    env = make("priority")
    env.reset()
    assert "illegal action" in env.step(env.action(np.nan))[-1]["error"]


def test_given_program_without_a_decision_is_an_error_and_a_drawn_one_is_drawn_again(make: Make, leaf: Path) -> None:
    env = make("eviction", programs=[leaf, PROGRAM])
    with pytest.raises(NoDecisions, match="leaf"):
        env.reset(options={"program": leaf})
    for seed in range(4):
        assert env.reset(seed=seed)[1]["program"] == PROGRAM
    assert env.timing.redrawn > 0


def test_untouched_compiler_without_a_decision_is_an_error(leaf: Path) -> None:
    with closing(EvictionEnv(programs=leaf, compiler="stock")) as env, pytest.raises(NoDecisions, match="leaf"):
        env.reset(options={"program": leaf})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reward": "money"}, "money"),
        ({"cost": "money"}, "cost='money': expected one of executed, allocated"),
        ({"pipeline": "no-such-pass"}, "eviction/pipeline: .*no-such-pass"),
        ({"pipeline": "{inline-threshold=1} default<Oz>"}, "without options"),
        ({"told": 2}, "told: expected 0 or 1"),
        ({"compiler": "gcc"}, "gcc"),
        ({"episode": "loop"}, "expected one of module, function"),
        ({"episode": "function", "reward": "text"}, "episode='function': reward='text'"),
        ({"episode": "function", "metrics": ["size"]}, "cost alone is measured of a function"),
        ({"dense": True, "reward": "text"}, "text is paid at the end alone"),
        ({"compiler": "stock", "reward": "cost"}, "a stock compiler does not tell it"),
        ({"compiler": "stock", "dense": True, "reward": "none"}, "dense=True: a stock compiler knows none"),
        ({"compiler": "stock", "forbidden": [1]}, "forbidden"),
        ({"compiler": "stock", "optsize": False}, "keeps minsize and optsize"),
        ({"compiler": "stock", "pipeline": "sroa", "session": None}, "a stock compiler runs its own"),
    ],
)
def test_wrong_argument_is_named_when_the_env_is_made(make: Make, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(TaskError, match=message):
        make("eviction", **({"session": None} if "compiler" in arguments else {}) | arguments)


def test_value_of_no_choice_forbids_nothing(make: Make) -> None:
    with pytest.raises(TaskError, match=r"^forbidden=0: expected none: the task asks for a value$"):
        make("priority", forbidden=[0])


@pytest.mark.parametrize("tool", ["llc", "clang"])
def test_policy_that_is_none_is_one_line_and_no_output(tool: str, tmp_path: Path) -> None:
    command = stock(tool, resolve(PROGRAM)[0].bitcode, tmp_path / "out.o")
    done = subprocess.run(with_policy(command, f"onnx:{tmp_path}/policy"), capture_output=True, text=True)
    message, *rest = done.stderr.splitlines()
    assert done.returncode == 1
    assert message.startswith("error: mlcb: ")
    assert "policy.json: No such file" in message
    assert rest in ([], ["1 error generated."])
    assert not (tmp_path / "out.o").exists()
