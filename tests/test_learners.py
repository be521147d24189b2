# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Learners that are not this project's: RLlib's own configs, Stable-Baselines3, a loop without a framework, PettingZoo."""

import math
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from stable_baselines3.common.env_checker import check_env

import mlcb_gym
from examples.learners import cleanrl_ppo, pettingzoo_turns, rllib, stable_baselines3
from mlcb_gym.agents import MaskedPolicyGradient, model_config
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.standardised import LEARNT, Standardised
from mlcb_gym.envs.flattened import FlattenedObservation
from mlcb_gym.envs.multi_agent import RllibMultiAgentEnv
from mlcb_gym.errors import PolicyError, TaskError
from mlcb_gym.export.export import export_module, export_policy
from mlcb_gym.export.parity import check_parity
from mlcb_gym.rollout.network_policy import batch
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.rollout.play import episode, play_in_order
from mlcb_gym.spec import bind

PROGRAM = "embedded/train"
LOOP = "loops/train/coupled_pair"
ALONE = {task: env_id for task, env_id in mlcb_gym.TASKS.items() if len(bind(task, {}).agents) == 1}


def leaves(space: spaces.Space[Any]) -> list[spaces.Space[Any]]:
    return [leaf for part in space.values() for leaf in leaves(part)] if isinstance(space, spaces.Dict) else [space]


@pytest.mark.parametrize("task", mlcb_gym.TASKS)
def test_no_tensor_of_an_observation_is_empty_or_a_scalar(task: str) -> None:
    with closing(gymnasium.make(mlcb_gym.TASKS[task], programs=LOOP if task == "loop_distribution" else PROGRAM)) as env:
        observation, _ = env.reset(seed=1)
        boxes = [leaf for leaf in leaves(env.observation_space) if not isinstance(leaf, spaces.Discrete)]
        assert all(leaf.shape and 0 not in leaf.shape for leaf in boxes)
        assert env.observation_space.contains(observation)


@pytest.mark.filterwarnings("ignore:We recommend you to use a symmetric")
@pytest.mark.parametrize("wrap", [lambda env: env, FlattenedObservation], ids=["tensors", "vector"])
@pytest.mark.parametrize("env_id", ALONE.values())
def test_environment_passes_the_checks_of_stable_baselines3(env_id: str, wrap: Any) -> None:
    with closing(wrap(gymnasium.make(env_id, programs=PROGRAM))) as env:
        check_env(env)


@pytest.mark.parametrize("env_id", ALONE.values())
def test_vector_of_an_observation_is_within_its_bounds_and_not_all_zeros(env_id: str) -> None:
    with closing(FlattenedObservation(gymnasium.make(env_id, programs=PROGRAM))) as env:
        observation, info = env.reset(seed=1)
        assert env.observation_space.contains(observation)
        assert len(np.unique(observation)) > 5
        assert "action_mask" not in info or np.array_equal(env.action_masks(), info["action_mask"].astype(bool))


def test_observation_of_several_agents_is_no_vector() -> None:
    with closing(gymnasium.make("LoopDistribution-v0", programs=LOOP)) as env, pytest.raises(TaskError, match=r"expected mlcb_gym\.envs\.aec"):
        FlattenedObservation(env)


def test_what_gymnasium_makes_can_be_forked() -> None:
    made: Any = gymnasium.make("PosetRL-v0", programs=PROGRAM)
    with closing(made) as env:
        env.reset(seed=1)
        with closing(env.fork()) as other:
            assert other.step(0)[4]["program"] == env.step(0)[4]["program"]


def test_config_names_the_class_of_several_agents_and_its_arguments() -> None:
    with closing(RllibMultiAgentEnv({"id": "LoopDistribution-v0", "programs": LOOP})) as env:
        observations, _ = env.reset(seed=1)
        assert list(observations) == ["selector"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray's own, of its own
@pytest.mark.parametrize(
    ("algorithm", "iterations"),  # the learner of an asynchronous algorithm takes a core to wait for its runners
    [("PPO", 2), ("DQN", 2), *(pytest.param(algorithm, 2, marks=pytest.mark.slow) for algorithm in ("APPO", "IMPALA"))],
)
def test_script_with_rllibs_own_config_trains_and_is_exported(
    algorithm: str, iterations: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    checkpoint = tmp_path / "checkpoint"
    rllib.main(algorithm, iterations, "checkpoint")
    returns = [float(line) for line in capsys.readouterr().out.splitlines() if line not in ("None", str(checkpoint))]
    assert len(returns) == iterations
    assert all(map(math.isfinite, returns))
    folder = export_policy(checkpoint, tmp_path / "policy", trust=True)
    assert OnnxPolicy(folder).env_arguments["max_steps"] == 5
    assert check_parity(checkpoint, folder, "embedded/validation", trust=True).disagreements == 0


def test_value_that_was_trained_in_other_units_is_not_exported(tmp_path: Path) -> None:
    module = RLModuleSpec(module_class=MaskedPolicyGradient, model_config=model_config("RegAllocPriority-v1", hidden=[4]))
    config = PPOConfig().environment("RegAllocPriority-v1", env_config={"programs": PROGRAM}).rl_module(rl_module_spec=module)
    config.env_runners(num_env_runners=0)
    algorithm = config.build_algo()
    checkpoint = Path(algorithm.save_to_path(str(tmp_path / "checkpoint")))
    algorithm.stop()
    with pytest.raises(PolicyError, match="trained with normalize_actions=True, which changes what a value means: expected False"):
        export_policy(checkpoint, tmp_path / "policy", trust=True)


def test_value_that_is_deployed_is_the_action_that_was_taken() -> None:
    with closing(gymnasium.make("RegAllocPriority-v1", programs=PROGRAM)) as made:
        env: Any = made
        observation, _ = env.reset(seed=1)
        config = model_config(env, hidden=[4], final_gain=1.0)
        module = MaskedPolicyGradient(
            observation_space=env.observation_space, action_space=env.action_space, model_config=config, inference_only=True
        )
        module.eval()
        seen = batch([observation])
        action = module.forward_inference({"obs": seen})["actions_for_env"][0].numpy()
        assert env.unwrapped.advice(action) == pytest.approx(module.network(seen).item(), rel=1e-6)
        assert env.action_space.contains(action)


def test_networks_of_a_team_are_exported(tmp_path: Path) -> None:
    with closing(gymnasium.make("LoopDistribution-v0", programs=LOOP, dimension=0)) as made:
        env: Any = made
        config = model_config(env, hidden=[4])
        module = MaskedPolicyGradient(
            observation_space=env.observation_space, action_space=env.action_space, model_config=config, inference_only=True
        )
        folder = export_module(module.network, env, tmp_path / "policy")
    assert OnnxPolicy(folder).task == "loop_distribution"


def test_folder_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "learner_group").mkdir()
    with pytest.raises(PolicyError, match="no checkpoint, expected RUN/best"):
        export_policy(tmp_path, tmp_path / "policy")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_stable_baselines3_trains_a_policy_that_is_exported(tmp_path: Path) -> None:
    stable_baselines3.main(512, str(tmp_path / "policy"))
    assert_plays("Inliner-v0", tmp_path / "policy")


def test_loop_without_a_framework_trains_a_policy_that_is_exported(tmp_path: Path) -> None:
    cleanrl_ppo.main(256, str(tmp_path / "policy"), cleanrl_ppo.Settings(envs=4, steps=16))
    assert_plays("PosetRL-v0", tmp_path / "policy")


def assert_plays(env_id: str, folder: Path) -> None:
    """A policy plays here and in the compiler, step by step and delegated, to the same end."""
    policy, made = OnnxPolicy(folder), cast(Any, gymnasium.make(env_id, programs="embedded/validation/huffman"))
    with closing(made) as env:
        ends = [
            trace.measured["size"]
            for choose in (policy.player(env), policy.delegate)
            for trace in play_in_order([env], [episode(env.programs[0], choose)])
        ]
    assert ends[0] == ends[1] > 0


def test_two_agents_take_turns_in_pettingzoo(capsys: pytest.CaptureFixture[str]) -> None:
    pettingzoo_turns.main(2)
    assert capsys.readouterr().out.count("coupled_pair") == 2


@pytest.mark.parametrize("hidden", [{"grid_search": [[64], [256]]}, [64, 0], "64"])
def test_sizes_that_are_none_are_refused(hidden: object) -> None:
    with closing(gymnasium.make("PosetRL-v0", programs=PROGRAM)) as env, pytest.raises(TaskError, match=r"hidden=.*expected widths as"):
        MaskedPolicyGradient(observation_space=env.observation_space, action_space=env.action_space, model_config={"network": {"hidden": hidden}})


def test_model_config_is_that_of_the_id() -> None:
    assert model_config("RegAllocEviction-v1", hidden=[32])["kind"] == "columns"
    assert model_config("RegAllocEviction-v1", hidden=[32])["network"]["hidden"] == (32,)
    assert NetworkConfig.of({}) == NetworkConfig()


class Rows(Standardised):
    def __init__(self) -> None:
        super().__init__(least=1e-3)
        self.begin(3)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if self.learns:
            self.learn(rows)
        return self.standardised(rows)


def test_statistics_are_learnt_from_rows_with_gradients_and_then_stay() -> None:
    rows = torch.randn((LEARNT, 3), generator=torch.Generator().manual_seed(1)) * torch.tensor([1.0, 10.0, 0.1]) + 5
    module = Rows()
    with torch.no_grad():
        module(rows[:10])
    assert int(module.rows) == 0
    for part in rows.split(1000):
        module(part)
    assert torch.allclose(module.mean, rows.mean(dim=0), atol=1e-3)
    assert torch.allclose(module.deviation, rows.std(dim=0), rtol=1e-3)
    before = module.mean.clone()
    module(rows + 100)
    assert torch.equal(module.mean, before)


def test_size_beside_network_is_refused() -> None:
    with pytest.raises(TaskError, match=r"^model_config: hidden beside network, expected \{'network': \{'hidden': \.\.\.\}\}$"):
        NetworkConfig.of({"hidden": [32]})


class Actor(torch.nn.Module):
    """A module that gives so many logits, from one tensor."""

    def __init__(self, choices: int, tensor: str) -> None:
        super().__init__()
        self.layer, self.tensor = torch.nn.Linear(1, choices), tensor

    def forward(self, observation: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.layer(observation[self.tensor].float())


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (Actor(3, "threshold"), r"^advisor: the network gives \[2, 3\] for a batch of 2, expected logits \[2, 2\]$"),
        (
            Actor(2, "action_mask"),
            r"^advisor: the network fails on zeros, with KeyError: 'action_mask'; expected one that takes a dict of the tensors ",
        ),
        ("model", r"^module is 'model', expected a torch.nn.Module from tensors to logits"),
    ],
)
def test_module_that_is_no_policy_is_refused(module: Any, said: str, tmp_path: Path) -> None:
    with closing(gymnasium.make("Inliner-v0", programs=PROGRAM)) as env, pytest.raises(PolicyError, match=said):
        export_module(module, env, tmp_path / "policy")
    assert list(tmp_path.iterdir()) == []


def test_policy_is_exported_for_an_environment_of_this_package_alone(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"^env is 'Inliner-v0', expected an environment of this package, as gymnasium.make returns it$"):
        export_module(Actor(2, "threshold"), cast(Any, "Inliner-v0"), tmp_path / "policy")


def test_argument_or_option_that_an_environment_does_not_have_is_named() -> None:
    with pytest.raises(TaskError, match=r"^InlinerEnv has no argument program, expected some of .*programs"):
        gymnasium.make("Inliner-v0", program=PROGRAM)
    with (
        closing(gymnasium.make("Inliner-v0", programs=PROGRAM)) as env,
        pytest.raises(TaskError, match=r"^reset: options has prog, expected program "),
    ):
        env.reset(options={"prog": PROGRAM})
