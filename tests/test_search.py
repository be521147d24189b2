# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rollouts, coresets, look-ahead, and what is distilled from it, on a task whose optimum is known."""

import copy
import json
import os
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from select import select
from typing import Any

import numpy as np
import pytest
import torch

from mlcb_gym.agents.architecture import model_config
from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.envs.posetrl import PosetRLEnv, fixed_sequences
from mlcb_gym.errors import CompilerError, SessionLost, TrainingError
from mlcb_gym.rollout.network_policy import greedy
from mlcb_gym.rollout.play import episode, play, play_in_order, replay
from mlcb_gym.rollout.random_policy import random
from mlcb_gym.rollout.trace import FAILED_RATIO, Trace, geomean
from mlcb_gym.search.beam_search import BeamSearch, beam_search
from mlcb_gym.search.coreset import Matrix, evaluate_sequences
from mlcb_gym.search.counterfactual import counterfactuals
from mlcb_gym.search.decisions import Decision, Search, read_decisions, search_all
from mlcb_gym.search.declaration import Declaration
from mlcb_gym.search.fixed_sequences import candidates
from mlcb_gym.training.imitation.distill import Outcomes, expected_regret, regret_of_candidates, warm_start
from mlcb_gym.training.imitation.optimize import minimize
from mlcb_gym.training.recipe import Distillation
from mlcb_gym.training.run import recipe
from mlcb_gym.training.training_env import Environment
from tests.support.command_line import assert_one_line, mlcb
from tests.support.known_optimum import ACTIONS, OPTIMUM, PROGRAMS, ToyEnv, ToyVectorEnv


@dataclass(frozen=True)
class ToyProgram:
    name: str
    digest: str


TOYS: list[Any] = [ToyProgram(name, f"{i:064x}") for i, name in enumerate(PROGRAMS)]


@pytest.fixture
def envs() -> list[ToyEnv]:
    return ToyVectorEnv(4).envs


def test_every_script_is_played_whatever_the_number_of_environments(envs: list[ToyEnv]) -> None:
    traces = list(play(envs, (replay(program, (0, 4)) for program in PROGRAMS)))
    assert sorted(t.program for t in traces) == sorted(PROGRAMS)
    assert {t.ratio for t in traces} == {1.0}


class SilentToy(ToyEnv):
    """The toy with a compiler that says nothing before ``speak``."""

    def __init__(self) -> None:
        super().__init__()
        self.heard, self.said = os.pipe()

    def speak(self) -> None:
        os.close(self.said)

    def ready(self) -> bool:
        return bool(select([self.heard], [], [], 0)[0])

    def fileno(self) -> int:
        return self.heard


def test_others_are_played_while_one_compiler_is_silent() -> None:
    silent = SilentToy()
    played = play([silent, ToyEnv()], (replay(program, (0, 4)) for program in PROGRAMS))
    others = [next(played).program for _ in PROGRAMS[1:]]
    silent.speak()
    assert [*others, *(t.program for t in played)] == [*PROGRAMS[1:], PROGRAMS[0]]
    os.close(silent.heard)


def test_results_in_order_are_those_of_the_scripts(envs: list[ToyEnv]) -> None:
    lengths = [1 + i % 5 for i in range(len(PROGRAMS))]
    traces = play_in_order(envs, (replay(p, (0,) * n) for p, n in zip(PROGRAMS, lengths, strict=True)))
    assert [(t.program, len(t.actions)) for t in traces] == list(zip(PROGRAMS, lengths, strict=True))


def test_program_that_cannot_be_begun_is_a_result_and_the_others_go_on(make_env: Callable[..., PosetRLEnv], program: Path) -> None:
    chosen = ("no-such-program", program)
    failed, played = play_in_order([make_env(max_steps=1)], (replay(p, (0,)) for p in chosen))
    assert "no-such-program" in (failed.error or "")
    assert played.error is None


def test_episodes_are_equal_whatever_the_number_of_compilers(make_env: Callable[..., PosetRLEnv], program: Path) -> None:
    def play_on(count: int) -> list[Trace]:
        return play_in_order([make_env() for _ in range(count)], (episode(program, random(np.random.default_rng(i))) for i in range(6)))

    assert play_on(1) == play_on(3)


def test_coreset_is_chosen_greedily() -> None:
    matrix = Matrix(("a", "b"), ((0,), (1,), (2,)), np.array([[0.9, 1.0, 0.95], [1.1, 0.9, 0.96]]))
    assert matrix.best_fixed() == 1
    assert matrix.coreset(2) == [1, 0]


def test_evaluated_sequences_are_not_run_again(tmp_path: Path) -> None:
    sequences = [(0,), (0, 1), ()]
    first = evaluate_sequences([ForkingToy()], TOYS[:3], sequences, tmp_path / "matrix.jsonl")
    again = evaluate_sequences([], TOYS[:3], sequences, tmp_path / "matrix.jsonl")
    assert np.array_equal(first.ratios, again.ratios)
    assert first.ratios[0].tolist() == pytest.approx([1.0, OPTIMUM, 1.5])


def test_sequences_are_run_again_on_a_program_that_has_changed(tmp_path: Path) -> None:
    store = tmp_path / "matrix.jsonl"
    evaluate_sequences([ForkingToy()], TOYS[:1], [(0, 1)], store)
    changed: Any = ToyProgram(TOYS[0].name, "f" * 64)
    store.write_text(store.read_text().replace(str(OPTIMUM), "0.5"))
    assert evaluate_sequences([ForkingToy()], [TOYS[0], changed], [(0, 1)], store).ratios.tolist() == [[0.5], [pytest.approx(OPTIMUM)]]


def test_result_that_was_cut_off_is_found_anew(tmp_path: Path) -> None:
    store = tmp_path / "matrix.jsonl"
    whole = evaluate_sequences([ForkingToy()], TOYS[:2], [(0,)], store)
    store.write_text(store.read_text()[:-5])
    assert np.array_equal(evaluate_sequences([ForkingToy()], TOYS[:2], [(0,)], store).ratios, whole.ratios)
    assert np.array_equal(evaluate_sequences([], TOYS[:2], [(0,)], store).ratios, whole.ratios)


class ForkingToy(ToyEnv):
    """The toy with what a look-ahead needs. ``open`` has the clones not closed yet; a fork beyond ``forks`` fails."""

    num_actions = len(ACTIONS)

    def __init__(self, forks: int = 10_000) -> None:
        super().__init__()
        self.open: set[int] = set()
        self.made, self.forks = [0], forks

    def send_reset(self, options: Any = None) -> None:
        if options["program"].name == "broken":
            raise CompilerError("broken: no such luck")
        super().send_reset({"program": options["program"].name})

    def fork(self) -> "ForkingToy":
        if self.made[0] == self.forks:
            raise SessionLost("the fork bomb squad came")
        clone = copy.copy(self)
        clone._taken = list(self._taken)
        self.made[0] += 1
        self.open.add(id(clone))
        return clone

    def close(self) -> None:
        self.open.discard(id(self))

    @property
    def observation(self) -> Any:
        return self._observation()

    @property
    def program(self) -> ToyProgram:
        return ToyProgram(self._program, "")

    def action_masks(self) -> np.ndarray:
        return np.ones(self.num_actions, bool)


def look_ahead(env: Any) -> Search:
    return Search(partial(beam_search, env, beam=BeamSearch()), Declaration.of(env))


def test_look_ahead_finds_the_known_optimum_and_closes_its_clones(tmp_path: Path) -> None:
    env = ForkingToy()
    (found,) = search_all(look_ahead(env), [ToyProgram("toy:1", "0" * 64)], tmp_path)  # type: ignore[list-item]
    assert found.error is None
    assert found.decisions[0].best == pytest.approx(OPTIMUM)
    assert [d.taken for d in read_decisions(tmp_path)["0" * 64]] == [d.taken for d in found.decisions]
    assert not env.open


def test_look_ahead_says_which_program_failed_and_goes_on(tmp_path: Path) -> None:
    programs = [ToyProgram("broken", "0" * 64), ToyProgram("toy:1", "1" * 64)]
    found = list(search_all(look_ahead(ForkingToy()), programs, tmp_path))  # type: ignore[arg-type]
    assert [(f.program, f.error) for f in found] == [("broken", "broken: no such luck"), ("toy:1", None)]


class FrailToy(ForkingToy):
    """The toy on a machine that fails at the steps of given numbers."""

    def __init__(self, *failing: int) -> None:
        super().__init__()
        self._steps, self._failing = [0], failing

    def receive(self) -> Any:
        self._steps[0] += 1
        if self._steps[0] in self._failing:
            return self._observation(), 0.0, False, True, {"program": self._program, "error": "the worker was killed"}
        return super().receive()


def searches(env: Any) -> list[Search]:
    return [look_ahead(env), Search(partial(counterfactuals, env, policy=lambda observation: 0), Declaration.of(env))]


@pytest.mark.parametrize("kind", [0, 1], ids=["beam", "counterfactual"])
def test_search_is_repeated_where_the_machine_failed(kind: int, tmp_path: Path) -> None:
    (whole,) = search_all(searches(ForkingToy())[kind], [ToyProgram("toy:1", "0" * 64)], tmp_path / "whole")  # type: ignore[list-item]
    (found,) = search_all(searches(FrailToy(9))[kind], [ToyProgram("toy:1", "0" * 64)], tmp_path / "frail")  # type: ignore[list-item]
    assert found.error is None
    assert [d.outcomes.tolist() for d in found.decisions] == [d.outcomes.tolist() for d in whole.decisions]


def test_search_that_the_machine_ends_again_and_again_is_not_written(tmp_path: Path) -> None:
    frail = FrailToy(*range(9, 10_000))
    (found,) = search_all(searches(frail)[0], [ToyProgram("toy:1", "0" * 64)], tmp_path)  # type: ignore[list-item]
    assert found.error == "the worker was killed"
    assert not list(tmp_path.glob("*.npz"))
    assert not frail.open


def test_sequence_that_the_machine_ended_is_played_again(tmp_path: Path) -> None:
    matrix = evaluate_sequences([FrailToy(1)], TOYS[:1], [(0, 1)], tmp_path / "matrix.jsonl")
    assert matrix.ratios.tolist() == [[pytest.approx(OPTIMUM)]]
    with pytest.raises(SessionLost, match=r"^toy:0: the worker was killed$"):
        evaluate_sequences([FrailToy(*range(100))], TOYS[:1], [(0, 1)], tmp_path / "lost.jsonl")
    assert (tmp_path / "lost.jsonl").read_text() == ""


def test_distilled_policy_does_what_was_found(envs: list[ToyEnv], tmp_path: Path) -> None:
    assert not [f.error for f in search_all(look_ahead(ForkingToy()), TOYS, tmp_path) if f.error]
    network: Any = {"hidden": (64,)}
    weights = warm_start(Environment("KnownOptimum-v0"), recipe("ppo", {"network": network, "distillation": {"batch": 16}}), tmp_path)
    space = {"observation_space": envs[0].observation_space, "action_space": envs[0].action_space}
    module = MaskedPolicyGradient(**space, model_config=model_config(ToyEnv, NetworkConfig(**network)), inference_only=False)
    module.load_state_dict(weights)
    choose = greedy(module.network.eval(), envs[0])
    assert geomean([t.ratio for t in play_in_order(envs, (episode(program, choose) for program in PROGRAMS))]) < 0.97


@dataclass(frozen=True)
class Other:
    """A change of a declaration, and what is said of it."""

    change: dict[str, Any]
    said: str


OTHERS = [
    Other({"task": "inliner"}, "decisions of task='toy', expected task='inliner'"),
    Other({"parameters": {"max_steps": 5}}, "decisions of max_steps=6, expected max_steps=5"),
    Other({"objective": ["text", "text_oz"]}, "decisions of objective=['size', 'size_oz'], expected objective=['text', 'text_oz']"),
    Other({"target": {"triple": "", "cpu": "znver4"}}, "decisions of cpu='', expected cpu='znver4'"),
    Other({"digest": "1" * 32}, f"decisions of digest='{'0' * 12}"),
]
"""Declarations of outcomes that a toy has not."""
ANOTHER_SEARCH = Other({"search": {"sequences": 8}}, "decisions of sequences=None, expected sequences=8")


@pytest.mark.parametrize("other", [*OTHERS, ANOTHER_SEARCH], ids=lambda other: next(iter(other.change)))
def test_folder_of_another_search_is_not_searched(other: Other, tmp_path: Path) -> None:
    search = look_ahead(ForkingToy())
    list(search_all(search, TOYS[:1], tmp_path))
    with pytest.raises(TrainingError, match=rf"^{tmp_path}: {re.escape(other.said)}"):
        list(search_all(replace(search, declaration=replace(search.declaration, **other.change)), TOYS, tmp_path))
    assert len(read_decisions(tmp_path, replace(search.declaration, search={"search": "another"}))) == 1


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: next(iter(other.change)))
def test_decisions_of_something_else_are_not_read(other: Other, tmp_path: Path) -> None:
    list(search_all(look_ahead(ForkingToy()), TOYS[:1], tmp_path))
    with pytest.raises(TrainingError, match=rf"^{tmp_path}: {re.escape(other.said)}"):
        read_decisions(tmp_path, replace(look_ahead(ForkingToy()).declaration, **other.change))


def test_decisions_without_a_declaration_are_refused(tmp_path: Path) -> None:
    list(search_all(look_ahead(ForkingToy()), TOYS[:1], tmp_path))
    (tmp_path / "search.json").unlink()
    said = f"{tmp_path}: decisions without search.json, which says what they are of, expected those of a new `mlcb search`"
    for use in (
        lambda: warm_start(Environment("KnownOptimum-v0"), recipe("ppo"), tmp_path),
        lambda: list(search_all(look_ahead(ForkingToy()), TOYS, tmp_path)),
    ):
        with pytest.raises(TrainingError, match=rf"^{re.escape(said)}$"):
            use()


@pytest.mark.parametrize(("name", "kept"), [(f"{0:064x}.npz", 100), (f"{0:064x}.npz", 0), ("search.json", 20)])
def test_damaged_file_of_decisions_is_named(name: str, kept: int, tmp_path: Path) -> None:
    list(search_all(look_ahead(ForkingToy()), TOYS[:1], tmp_path))
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:kept])
    with pytest.raises(TrainingError, match=rf"^{tmp_path}/{name}: a damaged .*, expected one as `mlcb search` wrote it: .*$"):
        warm_start(Environment("KnownOptimum-v0"), recipe("ppo"), tmp_path)


def test_folder_without_decisions_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=rf"^{tmp_path}/none: no decisions, expected a folder that `mlcb search` wrote$"):
        warm_start(Environment("KnownOptimum-v0"), recipe("ppo"), tmp_path / "none")


@pytest.mark.parametrize(("told", "expected"), [([1], [[2.0, 0.0, 3.0]]), ([], [[1.0, 0.0, 2.0]])])
def test_doubt_counts_against_other_answers_than_the_compilers_own(told: list[int], expected: list[list[float]]) -> None:
    decision = Decision((), {"its_default": np.array(told)}, 1.0, np.exp([0.01, 0.0, 0.02]), 1.0)
    outcomes = Outcomes.of([[decision]], Distillation(unit=0.01, margin=0.01), "its_default")
    assert outcomes.regrets.tolist() == pytest.approx(np.array(expected))


def test_masked_action_leaves_the_gradient_of_a_heavy_decision_a_number() -> None:
    logits = torch.tensor([[0.0, 1.0, torch.finfo(torch.float32).min]], requires_grad=True)
    (1e6 * expected_regret(logits, torch.tensor([[0.0, 1.0, 20.0]]), entropy=0.1)).sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert logits.grad[0, 2] == 0


def test_loss_that_is_no_number_is_one_line() -> None:
    module = torch.nn.Linear(1, 1)
    with pytest.raises(TrainingError, match=r"^the gradient of the loss is nan, expected a number: a lower distillation.lr may help$"):
        minimize(module, lambda rows: module.weight.sum() * float("nan"), 1, Distillation(epochs=1))


def least_of_all_draws(logits: torch.Tensor, regrets: torch.Tensor, draws: int) -> float:
    """By enumeration: the expected least regret of the preferred action and of so many draws of the others."""
    first = int(logits.argmax())
    odds = [0.0 if action == first else float(logits[action].exp()) for action in range(len(logits))]
    least = 0.0
    for drawn in product(range(len(logits)), repeat=draws):
        least += float(np.prod([odds[action] / sum(odds) for action in drawn])) * float(regrets[[first, *drawn]].min())
    return least


@pytest.mark.parametrize("candidates", [2, 3, 4])
def test_regret_of_candidates_is_that_of_all_draws(candidates: int) -> None:
    torch.manual_seed(1)
    logits, regrets = torch.randn(3, 5), torch.rand(3, 5)
    expected = [least_of_all_draws(*one, candidates - 1) for one in zip(logits, regrets, strict=True)]
    assert regret_of_candidates(logits, regrets, candidates).tolist() == pytest.approx(expected, abs=1e-5)


def test_regret_of_candidates_where_one_action_is_allowed() -> None:
    assert regret_of_candidates(torch.tensor([[0.0, -torch.inf]]), torch.tensor([[0.5, 5.0]]), 3).tolist() == [0.5]


@pytest.mark.parametrize("forks", [3, 7])
def test_look_ahead_that_fails_midway_closes_its_clones(tmp_path: Path, forks: int) -> None:
    env = ForkingToy(forks)
    (found,) = search_all(look_ahead(env), [ToyProgram("toy:1", "0" * 64)], tmp_path)  # type: ignore[list-item]
    assert found.error == "the fork bomb squad came"
    assert env.made == [forks]
    assert not env.open


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["priority"], "priority: asks for a value, which no search tries"),
        (["eviction", "--episode", "function"], 'eviction: episode="function": a search takes whole programs, expected episode="module"'),
        (["inliner", "--env", "reward=none"], "inliner: the environment measures nothing"),
        (["posetrl", "--env", "dense=false"], "posetrl: a beam search needs a measurement after every step"),
    ],
)
def test_what_cannot_be_searched_is_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = mlcb("search", *arguments, "--programs", "embedded/validation/chacha20", "-o", tmp_path)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_every_task_that_asks_for_a_choice_is_searched(tmp_path: Path) -> None:
    programs = ("--programs", "embedded/validation/chacha20")
    command = ("search", "eviction", *programs, "-o", str(tmp_path))
    done = mlcb(*command, "--decisions", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert read_decisions(tmp_path)
    assert f"{tmp_path}: 0 programs searched, 1 searched before, of 1" in mlcb(*command, "--decisions", "2").stdout.replace("\n", "")
    assert_one_line(mlcb(*command), f"{tmp_path}: decisions of decisions=2, expected decisions=12")
    assert_one_line(
        mlcb("train", "inliner", *programs, "--decisions", tmp_path, "-o", tmp_path / "run"),
        "decisions of task='eviction', expected task='inliner'",
    )


def test_fixed_sequences_are_found_from_decisions(program: Path, tmp_path: Path) -> None:
    environment = ("--env", 'actions=["function(mem2reg)","default<Oz>","stop"]', "--max-steps", "2")
    assert mlcb("search", "posetrl", *environment, "--programs", program, "-o", tmp_path / "decisions").returncode == 0
    done = mlcb("baselines", "posetrl", tmp_path / "decisions", *environment, "--programs", program, "-o", tmp_path / "found.json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["best_fixed"] == found["coreset"][0]
    assert set(found["coreset"]) >= set(PosetRLEnv.record.usual_sequences)
    (store,) = (tmp_path / "decisions" / "baselines").iterdir()
    texts = candidates(read_decisions(tmp_path / "decisions"), ["function(mem2reg)", "default<Oz>", "stop"], PosetRLEnv.record.usual_sequences, 60)
    with closing(PosetRLEnv(programs=program, **fixed_sequences(texts))) as env:
        assert store.name == f"{Declaration.of(env).key}.jsonl"
    done = mlcb("baselines", "inliner", tmp_path / "decisions", "--programs", program, "-o", tmp_path / "none.json")
    assert (done.returncode, done.stderr) == (1, "mlcb: inliner: its actions are no pipelines, of which sequences could be fixed\n")


def test_fixed_sequences_of_a_folder_without_decisions_are_one_line(program: Path, tmp_path: Path) -> None:
    done = mlcb("baselines", "posetrl", tmp_path / "typo", "--programs", program, "-o", tmp_path / "found.json")
    assert_one_line(done, f"{tmp_path}/typo: no decisions, expected a folder that `mlcb search` wrote")
    assert not list(tmp_path.glob("typo"))


def test_failed_episode_counts_as_its_start_where_that_was_measured() -> None:
    assert Trace("p", (0,), (1.5, 0.9), "crash").scored == 1.5
    assert Trace("p", (0,), (), "crash").scored == FAILED_RATIO
    assert Trace("p", (0,), (1.5, 0.9)).scored == 0.9
