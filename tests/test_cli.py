# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `mlcb` command as a user meets it: what it prints, and one line and exit code 1 for what is wrong."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any, TypedDict, Unpack

import pytest

import mlcb_gym
from mlcb_gym import envs
from mlcb_gym.cli.main import extra_with, main
from mlcb_gym.cli.shared_options import training_programs
from mlcb_gym.cli.task_options import env_parameters, task_options
from mlcb_gym.corpus.programs import resolve, validation_of
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.errors import TaskError
from mlcb_gym.policies import experimental, policy_path, shipped
from mlcb_gym.session import Limits
from mlcb_gym.training.hyperparameters import hyperparameters
from mlcb_gym.training.learnable import seen
from mlcb_gym.training.registry import algorithms, recipe_class
from tests.support.command_line import assert_one_line, mlcb

ONE = ("--programs", "embedded/validation/chacha20")


def test_list_is_a_short_table_with_policies_by_name() -> None:
    printed = mlcb("list").stdout
    assert all(name in printed for name in ("loop_distribution", "LoopDistribution-v0", "sub-sequences that make a module small"))
    assert "action_mask" not in printed
    assert str(next(iter(shipped().values())).parent) not in printed
    assert len(printed.splitlines()) < 5 * len(envs.environments())


def test_list_of_a_task_names_every_tensor_and_argument() -> None:
    printed = mlcb("list", "loop-distribution").stdout
    assert all(name in printed for name in ("selector", "dependences", "action_mask", "--pipeline"))
    assert "eviction" not in printed
    assert re.search(r'--sampling *│ "uniform"', printed)


def test_version_is_printed() -> None:
    assert mlcb("--version").stdout == f"mlcb_gym {mlcb_gym.__version__}\n"


def test_recipes_name_every_hyperparameter_with_its_meaning() -> None:
    printed = mlcb("recipes", "priority").stdout
    assert all(name in printed for name in ("network.hidden", "distillation.margin", "pairs", "antithetic", "result to expect"))
    assert "entropy.first" in mlcb("recipes", "priority", "--algo", "ppo").stdout
    overview = mlcb("recipes").stdout
    assert all(name in overview for name in envs.environments())
    assert "the policy that ships: mlcb_gym/policies/experimental/eviction" in overview


@pytest.mark.parametrize("algorithm", algorithms())
def test_hyperparameter_has_a_meaning(algorithm: str) -> None:
    assert not [each.key for each in hyperparameters(recipe_class(algorithm)()) if not each.meaning]


def test_options_of_train_are_in_groups() -> None:
    printed = mlcb("train", "--help").stdout
    assert all(name in printed for name in ("Programs and environment", "Budget", "Learning", "Checkpoints"))


def test_shipped_policies_are_named_by_their_tasks(tmp_path: Path) -> None:
    done = mlcb("clang-config", "posetrl", "loop-distribution", "--no-aot", "--output", tmp_path / "mlcb.cfg")
    assert done.returncode == 0
    written = (tmp_path / "mlcb.cfg").read_text()
    assert all(f"onnx:{shipped()[name].resolve()}" in written for name in ("posetrl", "loop_distribution"))


def test_experimental_policy_is_found_by_name_and_said_in_one_line(tmp_path: Path) -> None:
    done = mlcb("clang-config", "inliner", "priority", "--no-aot", "--output", tmp_path / "mlcb.cfg")
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert done.stderr == "mlcb: inliner, priority: experimental: no better than the best baseline that learns nothing (see the card)\n"
    assert f"onnx:{shipped()['inliner'].resolve()}" in (tmp_path / "mlcb.cfg").read_text()
    assert "inliner (experimental)" in mlcb("list").stdout


def test_policy_that_beats_its_baseline_is_used_without_a_line(tmp_path: Path) -> None:
    assert mlcb("clang-config", "function-size", "--no-aot", "--output", tmp_path / "mlcb.cfg").stderr == ""
    assert "function_size" not in experimental()


def test_policy_is_compiled_once_and_named_by_what_it_is_made_of(tmp_path: Path) -> None:
    written = []
    for policy in ("priority", "priority", tmp_path / "other"):
        if policy == tmp_path / "other":
            shutil.copytree(shipped()["priority"], policy)
            (policy / "policy.json").write_text((policy / "policy.json").read_text() + "\n")
        assert mlcb("clang-config", policy, "--output", tmp_path / "mlcb.cfg").returncode == 0
        (named,) = re.findall(r"-mlcb-runner=aot:(.*/priority-[0-9a-f]{16}\.so)", (tmp_path / "mlcb.cfg").read_text())
        written.append((named, Path(named).stat().st_mtime_ns))
    assert written[0] == written[1]
    assert written[2][0] != written[0][0]


def test_guard_of_a_task_without_a_measure_is_refused(tmp_path: Path) -> None:
    done = mlcb("clang-config", "posetrl", "loop-distribution", "--guard", "--output", tmp_path / "mlcb.cfg")
    assert_one_line(done, "the guard has no measure of loop_distribution: expected --no-guard, or no policy for it")
    assert not (tmp_path / "mlcb.cfg").exists()


def test_budget_chooses_candidates_or_is_refused(tmp_path: Path) -> None:
    made = tmp_path / "mlcb.cfg"
    both = ("clang-config", "posetrl", "function-size", "--no-aot", "--output", made)
    assert_one_line(mlcb(*both, "--budget", "2"), "budget=2.0: expected a finite number, at least 3")
    assert mlcb(*both, "--budget", "3").returncode == 0
    assert "\n-mlcb-candidates=1\n" in made.read_text()


def test_compiled_policy_that_ships_is_written_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert mlcb("aot", "priority").stdout == f"aot:{tmp_path.resolve() / 'priority.so'}\n"
    assert_one_line(mlcb("clang-config", "priority", "priority.so"), "priority.so: decides about priority")


def test_folder_with_a_policy_comes_before_the_one_that_ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "posetrl").mkdir()
    assert policy_path("posetrl") == shipped()["posetrl"]
    (tmp_path / "posetrl" / "policy.json").write_text("{}")
    assert policy_path("posetrl") == Path("posetrl")


def test_same_task_twice_is_refused() -> None:
    policy = shipped()["posetrl"]
    assert_one_line(mlcb("clang-config", "posetrl", policy), f"{policy}: decides about posetrl, as {policy} does: expected one policy for each task")


def test_every_folder_without_a_policy_is_named(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    done = mlcb("clang-config", tmp_path / "a", "posetrl", tmp_path / "b", "--output", tmp_path / "mlcb.cfg")
    assert_one_line(done, f"{tmp_path / 'a'}: no readable policy.json")
    assert f"{tmp_path / 'b'}: no readable policy.json" in done.stderr
    assert not (tmp_path / "mlcb.cfg").exists()


def test_plugin_prints_a_path_that_exists() -> None:
    assert Path(mlcb("plugin").stdout.strip()).exists()


def test_corpus_list_names_the_programs() -> None:
    assert "embedded/test/aes" in mlcb("corpus", "list", "embedded/test").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("corpus", "list", "no-such-thing"),
        ("corpus", "build", "no-such-thing"),
        ("clang-config", "no-such-thing"),
        ("export", "no-such-thing", "policy"),
        ("evaluate", "posetrl", "--policy", "no-such-thing"),
        ("report", "no-such-thing"),
        ("train", "posetrl", "--from", "no-such-thing", "--output", "unused"),
        ("train", "posetrl", "--programs", "embedded/train/fft", "--validation", "embedded/train/fft", "--output", "/dev/null/no-such-thing"),
        ("log", "record", "posetrl", "--policy", "random", "--programs", "embedded/train/fft", "--output", "/dev/null/no-such-thing"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_1(arguments: tuple[str, ...]) -> None:
    done = mlcb(*arguments)
    assert_one_line(done, "no-such-thing")


def test_search_from_a_policy_with_other_parameters_is_refused(tmp_path: Path) -> None:
    done = mlcb("search", "inliner", "--policy", "inliner", "--programs", "embedded/train/fft", "--output", str(tmp_path / "decisions"))
    assert_one_line(done, "made for inliner with other parameters")


def test_check_says_that_an_environment_conforms() -> None:
    assert mlcb("check", "posetrl").stdout.strip() == "PosetRL-v0: conforms"


def test_argument_that_an_environment_has_not_is_named() -> None:
    done = mlcb("train", "posetrl", "--output", "unused", "--programs", "embedded/train", "--env", "rewardd=size")
    assert_one_line(done, "rewardd: posetrl has no such argument, expected one of actions, dense, ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("train", "inliner", "--max-steps", "3", "--output", "unused"),
            "inliner has no option --max-steps, expected one of --compiler, --context, ",
        ),
        (("train", "--max-steps=x", "posetrl", "--output", "unused"), "--max-steps x: expected int"),
        (("search", "posetrl", "--decisions", "5", *ONE, "--output", "unused"), "posetrl: its search has no option decisions, expected none"),
        (
            ("search", "inliner", "--sequences", "5", *ONE, "--output", "unused"),
            "inliner: its search has no option sequences, expected one of policy, ",
        ),
        (("search", "eviction", "--decisions", "0", *ONE, "--output", "unused"), "decisions=0: expected 1 or more"),
        (("evaluate", "posetrl", "--search", *ONE), "posetrl: a search tries the other choices"),
        (("evaluate", "priority", "--search", *ONE), "priority: a search tries the other choices"),
        (("evaluate", "eviction", "--linked", "embedded/test", *ONE), "eviction: not judged by size"),
        (("evaluate", "inliner", "--growth", "3", *ONE), "inliner: growth: settled by the policy"),
        (("evaluate", "posetrl", "--rounds", "3", *ONE), "posetrl has no option --rounds, expected one of --actions, --best-of, "),
        (("evaluate", "loop-distribution", "--dimension", "0"), "loop_distribution: no environment is made in its evaluation"),
        (("log", "record", "posetrl", "x.log", "--output", "unused"), "posetrl: unexpected argument 'x.log'"),
    ],
)
def test_option_that_a_task_has_not_is_named_with_those_it_has(arguments: tuple[str, ...], said: str) -> None:
    assert_one_line(mlcb(*arguments), said)


def test_arguments_of_an_environment_are_options(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    given = ("--max-steps", "2", "--start", "Oz", "--actions", "odg", "--env", "dense=false", "--reward=none", *ONE)
    done = mlcb("log", "record", *given, "posetrl", "--policy", "random", "--output", log)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"[12] decisions in 1 episodes", done.stdout)


def test_help_of_a_command_with_a_task_lists_the_arguments_of_its_environment() -> None:
    printed = mlcb("train", "inliner", "--help").stdout
    assert all(name in printed for name in ("--algo", "--growth", "--embedding"))
    assert "--growth" not in mlcb("train", "--help").stdout


@pytest.mark.parametrize(("task", "option"), [("posetrl", "--candidates"), ("loop_distribution", "--rounds")])
def test_help_of_an_evaluation_lists_the_options_of_its_task(task: str, option: str) -> None:
    printed = mlcb("evaluate", task, "--help").stdout
    assert [line.split()[1] for line in printed.splitlines() if line.startswith(f"│ {option} ")] == [option]
    assert printed.count("│ --seed ") == 1


@pytest.mark.parametrize("task", ["posetrl", "function_size", "function_posetrl"])
def test_number_of_actions_is_shown_as_what_follows_from_arguments(task: str) -> None:
    (row,) = (line for line in mlcb("list", task).stdout.splitlines() if "action_mask" in line)
    assert "[*]" in row


class Options(TypedDict, total=False):
    """Options that several environments share."""

    pace: int


class PacedEnv(CompilerEnv):
    """An environment whose shared options are declared in a ``TypedDict``."""

    task = "paced"

    def __init__(self, *, speed: float = 1.0, limits: Limits = Limits(), **options: Unpack[Options]) -> None:
        raise NotImplementedError


WITHOUT_TRAINING = """
import sys

sys.modules.update(dict.fromkeys(("onnxscript", "ray", "safetensors", "tensorboard", "torch")))  # as if they were not installed
from mlcb_gym.cli.main import main

main()
"""


def without_training(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT_TRAINING, *command], capture_output=True, text=True, timeout=120, check=False)


def test_evaluation_needs_nothing_of_training(tmp_path: Path) -> None:
    done = without_training("evaluate", "function_size", *ONE, "--references", "false", "--best-of", "1", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "evaluation.json").exists()


def test_search_that_needs_torch_says_so_before_anything_is_played(tmp_path: Path) -> None:
    assert_one_line(
        without_training("evaluate", "inliner", *ONE, "--search", "true", "-o", tmp_path), "torch is not installed: pip install 'mlcb_gym[train]'"
    )
    assert not (tmp_path / "unfinished.jsonl").exists()


def test_sources_that_are_not_built_say_so(tmp_path: Path) -> None:
    shutil.copytree(Path(mlcb_gym.__file__).parent, tmp_path / "mlcb_gym", ignore=shutil.ignore_patterns("_native*", "policies", "__pycache__"))
    alone = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}  # -S: without the finder of an installation in place
    done = subprocess.run([sys.executable, "-S", "-m", "mlcb_gym"], cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=60, check=False)
    assert_one_line(done, f"{tmp_path}/mlcb_gym: not built, expected make setup here")


def test_last_line_of_an_evaluation_says_what_is_left_out(tmp_path: Path, leaf: Path) -> None:
    (tmp_path / "data.c").write_text("int table[4] = {1, 2, 3, 4};\n")
    done = mlcb("evaluate", "inliner", "--programs", tmp_path, "--best-of", "1", "--output", tmp_path / "evaluation")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "left out of every mean: 1 program without a function"


def test_options_of_a_typed_dict_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envs, "env_class", lambda task: PacedEnv)
    assert list(env_parameters("paced")) == ["pace", "speed"]
    assert task_options("paced", ["--pace", "3", "--speed", "2"], ["pace=4"]) == ({"pace": 4, "speed": 2},)
    with pytest.raises(TaskError, match=r"--pace x: expected int"):
        task_options("paced", ["--pace", "x"], None)


@pytest.mark.parametrize(
    ("given", "env", "expected"),
    [
        (["--metrics", "size", "--metrics", "text"], [], {"metrics": ["size", "text"]}),
        (["--metrics", '["size", "text"]'], [], {"metrics": ["size", "text"]}),
        (["--forbidden", "3"], [], {"forbidden": [3]}),
        ([], ["dense=False", "forbidden=3"], {"dense": False, "forbidden": [3]}),
    ],
)
def test_options_are_of_the_type_of_their_argument(given: list[str], env: list[str], expected: dict[str, Any]) -> None:
    assert task_options("posetrl", given, env) == (expected,)


def test_argument_of_another_type_is_one_line() -> None:
    with pytest.raises(TaskError, match=r"^--dense no: expected bool$"):
        task_options("posetrl", [], ["dense=no"])


def test_training_on_a_corpus_is_on_its_training_split() -> None:
    assert training_programs("posetrl", None) == ["default/train"]
    assert training_programs("posetrl", ["embedded", "debian/test", "folder/"]) == ["embedded/train", "debian/test", "folder/"]
    assert training_programs("posetrl", ["embedded/"]) == ["embedded/train"]


def test_programs_that_are_learnt_from_and_validated_on_are_said() -> None:
    learnt, judged = resolve("embedded/train/fft"), resolve(["embedded/train/fft", "embedded/test/aes"])
    said = "1 of 2 programs to validate are learnt from, as embedded/train/fft: the best checkpoint says little about others"
    assert seen(learnt, judged) == said
    assert seen(learnt, judged[1:]) == ""


def test_training_split_is_validated_by_its_sibling() -> None:
    assert validation_of(["debian/train", "loops/train/stride", "data/train"]) == ["debian/validation", "loops/validation", "embedded/validation"]


@pytest.mark.parametrize(("words", "completed"), [(["eva"], "evaluate"), (["check", "pri"], "priority"), (["corpus", "bu"], "build")])
def test_shell_completes_commands_and_tasks(words: list[str], completed: str) -> None:
    asked = {"_MLCB_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["mlcb", *words]), "COMP_CWORD": str(len(words))}
    command = [Path(sys.executable).with_name("mlcb")]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [completed]


@pytest.mark.parametrize(
    ("package", "extra"), [("torch", "train"), ("ray", "train"), ("pettingzoo", "pettingzoo"), ("numpy", None), ("unheard_of", None)]
)
def test_extra_is_that_which_installs_a_package(package: str, extra: str | None) -> None:
    assert extra_with(package) == extra


def test_missing_extra_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "mlcb_gym.export.export", raising=False)
    monkeypatch.setattr(sys, "argv", ["mlcb", "export", "run", "policy"])
    with pytest.raises(SystemExit, match="1"):
        main()
    assert capsys.readouterr().err == "mlcb: torch is not installed: pip install 'mlcb_gym[train]'\n"
