# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Features and masked modules: what a policy sees, and what it may not choose."""

import json
from typing import Any, Literal

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from mlcb_gym.agents.architecture import Architecture, model_config
from mlcb_gym.agents.columns import MARGIN, ColumnFeatures
from mlcb_gym.agents.features import Features
from mlcb_gym.agents.masked_appo import MaskedAppo
from mlcb_gym.agents.masked_dqn import MaskedDqn
from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.agents.network import LogitsNetwork, policy_network
from mlcb_gym.agents.standardised import CLIP
from mlcb_gym.agents.values import ValueNetwork
from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.envs.record import FeatureKind
from mlcb_gym.errors import TaskError
from mlcb_gym.rollout.network_policy import advice, batch
from mlcb_gym.rollout.random_policy import random_observations
from mlcb_gym.spec import MASK
from tests.support import known_optimum

ENV = known_optimum.ToyEnv()


@pytest.fixture(scope="module")
def observations() -> dict[str, torch.Tensor]:
    return batch(random_observations([known_optimum.ToyEnv()], known_optimum.PROGRAMS, episodes=32, seed=3))


def features() -> Features:
    return Features(ENV.observation_space, actions=len(known_optimum.ACTIONS), architecture=Architecture.of(ENV))


def module(kind: type, **config: Any) -> Any:
    return kind(
        observation_space=ENV.observation_space,
        action_space=ENV.action_space,
        inference_only=False,
        model_config={**model_config(ENV, NetworkConfig(final_gain=1.0)), **config},
    )


def dqn(epsilon: float) -> MaskedDqn:
    return module(MaskedDqn, double_q=True, epsilon=epsilon)


def test_features_are_standardised_over_the_observations_they_were_fixed_with(observations: dict[str, torch.Tensor]) -> None:
    made = features()
    made.standardise(observations)
    continuous = made(observations)[:, : -made.categorical_width]
    assert continuous.mean(dim=0).abs().max() < 0.1
    assert continuous.std(dim=0).max() < 1.1


def test_features_of_the_largest_allowed_observation_are_finite_and_bounded() -> None:
    largest = {name: torch.from_numpy(np.asarray(space.high))[None] for name, space in ENV.observation_space.items() if isinstance(space, spaces.Box)}
    seen = features()(largest)
    assert torch.isfinite(seen).all()
    assert seen.abs().max() <= CLIP


def test_no_last_action_is_a_vector_of_zeros(observations: dict[str, torch.Tensor]) -> None:
    first = {name: value[:1] for name, value in observations.items()}
    made = features()
    assert not made(first)[:, -made.categorical_width :].any()


def test_last_actions_are_one_hot(observations: dict[str, torch.Tensor]) -> None:
    taken = {name: value[:1] for name, value in observations.items()} | {"last_actions": torch.tensor([[2, -1, -1, -1]])}
    made = features()
    assert made(taken)[0, -made.categorical_width :].nonzero().flatten().tolist() == [2]


def test_mask_is_no_input_of_the_network(observations: dict[str, torch.Tensor]) -> None:
    network = LogitsNetwork(ENV.observation_space, ENV.action_space, NetworkConfig())
    network({name: value for name, value in observations.items() if name != MASK})


def test_tensor_without_features_of_its_own_is_squashed() -> None:
    space = spaces.Dict({"depth": spaces.Box(0, 10**9, (3,), np.int64), MASK: spaces.MultiBinary(2)})
    seen = Features(space, actions=2).eval()({"depth": torch.tensor([[0, 10, 10**9]])})
    assert seen.tolist() == [pytest.approx([0.0, 2.998, CLIP], abs=1e-3)]


def test_spill_weights_of_all_orders_are_told_apart_and_infinity_from_all() -> None:
    space = spaces.Dict({"weight": spaces.Box(0, 1e30, (1,), np.float32)})
    weights = Architecture(features={"weight": FeatureKind.WEIGHT})
    seen = Features(space, actions=1, architecture=weights).eval()({"weight": torch.tensor([[1e-4], [1e-3], [1e-2], [1e30]])})
    assert seen[:, 1].tolist() == [0, 0, 0, 1]
    assert seen[:, 0].tolist() == pytest.approx([-CLIP, np.log(1e-3), np.log(1e-2), 0])


def values(head: float) -> list[float]:
    """Of three observations, by a network whose head adds up to a number whatever it sees."""
    space = spaces.Dict({"its_default": spaces.Box(0, 2.0**32, (1,), np.float32)})
    network = ValueNetwork(space, NetworkConfig(hidden=(), final_gain=0.0), Architecture("value", heuristic="its_default"))
    torch.nn.init.constant_(network.head[-1].bias, head)  # type: ignore[arg-type]
    return network({"its_default": torch.tensor([[0.0], [4e3], [3e9]])}).flatten().tolist()


def test_value_is_the_compilers_own_to_begin_with_and_may_become_any() -> None:
    assert values(0) == [0, 4e3, 3e9]
    assert values(-20) == [0, 0, 0]
    assert values(20) == [0, 2**32, 2**32]
    assert 4e3 < values(1)[1] < values(2)[1] < 2**32 > values(2)[2] > values(1)[2] > 3e9


def test_policy_gives_illegal_actions_no_probability(observations: dict[str, torch.Tensor]) -> None:
    masked = observations | {MASK: torch.tensor([0, 1, 0, 1, 0], dtype=torch.int8).expand_as(observations[MASK])}
    logits = module(MaskedPolicyGradient).forward_inference({"obs": masked})["action_dist_inputs"]
    assert logits.softmax(dim=1)[:, [0, 2, 4]].max() == 0.0


def test_policy_is_finite_where_nothing_is_allowed(observations: dict[str, torch.Tensor]) -> None:
    masked = observations | {MASK: torch.zeros_like(observations[MASK])}
    logits = module(MaskedPolicyGradient).forward_inference({"obs": masked})["action_dist_inputs"]
    assert torch.isfinite(logits.softmax(dim=1)).all()


def test_acting_builds_no_graph(observations: dict[str, torch.Tensor]) -> None:
    made = module(MaskedPolicyGradient)
    assert not made.forward_exploration({"obs": observations})["action_dist_inputs"].requires_grad
    assert made.forward_train({"obs": observations})["action_dist_inputs"].requires_grad


def test_statistics_are_learnt_from_losses_alone(observations: dict[str, torch.Tensor]) -> None:
    made = module(MaskedPolicyGradient).train()
    made.compute_values({"obs": observations})
    assert not made.network.features.rows
    made.forward_train({"obs": observations})
    assert int(made.network.features.rows) == len(observations[MASK])


@pytest.mark.parametrize("kind", ["mlp", "columns"])
def test_network_runs_where_its_inputs_are(kind: Literal["mlp", "columns"]) -> None:
    space = spaces.Dict({"cost": spaces.Box(0, 9, (3,)), "chosen": spaces.Box(0, 2, (1,)), MASK: spaces.MultiBinary(3)})
    network = LogitsNetwork(space, spaces.Discrete(3), NetworkConfig(), Architecture(kind, heuristic="chosen")).eval().to("meta")
    assert network({name: torch.zeros((2, *(part.shape or ())), device="meta") for name, part in space.items()}).shape == (2, 3)


def test_architecture_of_a_wrapped_environment_is_that_of_the_environment() -> None:
    assert Architecture.of(gymnasium.Wrapper(ENV)) == Architecture.of(ENV) != Architecture()


@pytest.mark.parametrize(("kind", "config"), [(MaskedPolicyGradient, {}), (MaskedAppo, {"kind": "value"}), (MaskedDqn, {"kind": "value"})])
def test_module_that_does_not_learn_a_value_says_so(kind: type, config: dict[str, str]) -> None:
    space = spaces.Dict({"its_default": spaces.Box(0, 100, (1,), np.float32)})
    with pytest.raises(TaskError, match="a value"):
        kind(observation_space=space, action_space=spaces.Box(0, 1, (1,)), model_config=config, inference_only=False)


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_dqn_explores_allowed_actions_alone(observations: dict[str, torch.Tensor], epsilon: float) -> None:
    masked = observations | {MASK: torch.tensor([0, 1, 0, 1, 0], dtype=torch.int8).expand_as(observations[MASK])}
    actions = dqn(epsilon).forward_exploration({"obs": masked}, t=0)["actions"]
    assert set(actions.tolist()) <= {1, 3}


def test_dqn_explores_every_allowed_action(observations: dict[str, torch.Tensor]) -> None:
    torch.manual_seed(1)
    actions = dqn(1.0).forward_exploration({"obs": observations}, t=0)["actions"]
    assert set(actions.tolist()) == set(range(len(known_optimum.ACTIONS)))


def test_dqn_survives_an_empty_mask(observations: dict[str, torch.Tensor]) -> None:
    masked = observations | {MASK: torch.zeros_like(observations[MASK])}
    assert len(dqn(1.0).forward_exploration({"obs": masked}, t=0)["actions"]) == len(observations[MASK])


def test_greedy_choice_keeps_to_the_mask() -> None:
    observation, _ = ENV.reset(seed=1)
    network = LogitsNetwork(ENV.observation_space, ENV.action_space, NetworkConfig()).eval()
    assert advice(network, observation | {MASK: np.array([0, 0, 1, 0, 0], np.int8)}) == 2


def test_batch_adds_one_leading_axis() -> None:
    observation, _ = ENV.reset(seed=1)
    assert {name: tuple(t.shape) for name, t in batch([observation] * 3).items()} == {name: (3, *value.shape) for name, value in observation.items()}


def test_model_config_has_what_the_record_of_the_task_declares() -> None:
    config = model_config(InlinerEnv, NetworkConfig(hidden=(8,)))
    assert (config["network"]["hidden"], config["kind"], config["heuristic"]) == ((8,), "mlp", "inlining_default")
    assert config["features"]["callee_calls"] == "few"
    assert Architecture.from_config(json.loads(json.dumps(config))) == Architecture.of(InlinerEnv)


def test_module_of_a_script_that_declares_nothing_is_a_perceptron_over_squashed_tensors(observations: dict[str, torch.Tensor]) -> None:
    config = {"network": {"hidden": (8,)}}
    made = MaskedPolicyGradient(observation_space=ENV.observation_space, action_space=ENV.action_space, inference_only=False, model_config=config)
    elements = sum((space.shape and int(np.prod(space.shape))) or 1 for name, space in ENV.observation_space.items() if name != MASK)
    assert isinstance(made.network, LogitsNetwork)
    assert (made.network.features.width, made.network.features.categorical_width) == (elements, 0)
    assert made.network(observations).shape == (len(observations[MASK]), len(known_optimum.ACTIONS))


def test_value_without_a_heuristic_is_what_a_perceptron_gives() -> None:
    space = spaces.Dict({"size": spaces.Box(0, 10, (1,), np.float32)})
    made = policy_network(space, spaces.Box(0, 1, (1,), np.float32), NetworkConfig(hidden=()))
    assert made({"size": torch.tensor([[1.0], [2.0]])}).shape == (2, 1)


def test_columns_are_what_the_record_says_and_not_what_an_observation_looks_like() -> None:
    space = spaces.Dict({"rating": spaces.Box(0, 1, (3,), np.float32), MASK: spaces.MultiBinary(3)})
    kinds = [LogitsNetwork(space, spaces.Discrete(3), NetworkConfig(), Architecture(kind)) for kind in ("mlp", "columns")]
    assert [type(made.features) for made in kinds] == [Features, ColumnFeatures]


def test_columns_are_standardised_over_those_that_may_be_chosen() -> None:
    space = spaces.Dict({"cost": spaces.Box(-1e9, 1e9, (3,), np.float32), "own": spaces.Box(0, 2, (1,), np.int64), MASK: spaces.MultiBinary(3)})
    architecture = Architecture("columns", {"cost": FeatureKind.COST}, heuristic="own")
    features = ColumnFeatures(space, actions=3, architecture=architecture).eval()
    observed = {"cost": torch.tensor([[0.1, 1e9, -4.0]]), "own": torch.tensor([[0]]), MASK: torch.tensor([[1, 1, 0]])}
    cost, infinite = features(observed).view(3, -1)[:, :2].unbind(dim=1)
    torch.testing.assert_close(cost, torch.asinh(torch.tensor([10.0, 0.0, -400.0])).clamp(-CLIP, CLIP))
    assert infinite.tolist() == [0, 1, 0]
    features.standardise(observed)
    seen = features(observed).view(3, -1)
    torch.testing.assert_close(seen[:2, :-3].mean(dim=0), torch.zeros(features.per_column - 3))
    assert seen[:, -3:].tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0]]


def test_column_begins_as_far_behind_as_its_score() -> None:
    columns = {name: spaces.Box(0, 1e9, (3,), np.float32) for name in ("saves", "evicts")}
    space = spaces.Dict({**columns, "own": spaces.Box(0, 2, (1,), np.int64), MASK: spaces.MultiBinary(3)})
    architecture = Architecture("columns", heuristic="own", score={"saves": -1.0, "evicts": -1.0})
    network = LogitsNetwork(space, spaces.Discrete(3), NetworkConfig(hidden=(), final_gain=0.0), architecture).eval()
    observed = {"saves": torch.tensor([[3.0, 2.0, 0.5]]), "evicts": torch.tensor([[0.0, 2.0, 0.0]]), "own": torch.tensor([[0]])}
    behind = torch.asinh(torch.tensor(400.0)) - torch.asinh(torch.tensor(300.0))
    torch.testing.assert_close(network(observed), torch.stack([torch.tensor(MARGIN), -behind, torch.tensor(0.0)]).unsqueeze(0))
