# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The architecture of a task's network, as its record declares it, and as an RLModule gets it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import gymnasium
from gymnasium import spaces

from mlcb_gym.agents.mlp import NetworkConfig
from mlcb_gym.envs import class_of
from mlcb_gym.envs.record import FeatureKind, TaskRecord


@dataclass(frozen=True)
class Architecture:
    """The facts about a task that its network depends on, beside the spaces. By default, a perceptron over ``asinh`` of every element.

    Args:
        kind: see ``TaskRecord.network``.
        features: the kinds of tensors, see ``FeatureKind``.
        heuristic: the tensor with the answer of the compiler's own heuristic.
        score: see ``TaskRecord.score``.
    """

    kind: Literal["mlp", "columns", "graph", "value"] = "mlp"
    features: Mapping[str, FeatureKind] = field(default_factory=dict)
    heuristic: str | None = None
    score: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, env: gymnasium.Env[Any, Any] | type) -> "Architecture":
        """Return the architecture for an environment, wrapped or not, or for a class of environments."""
        env = env.unwrapped if isinstance(env, gymnasium.Env) else env
        record: TaskRecord = getattr(env, "record", TaskRecord())
        return cls(record.network, record.features, getattr(env, "heuristic", None), record.score)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Architecture":
        """Return the architecture in an RLModule's ``model_config``; the default one where that holds none."""
        features = {name: FeatureKind(kind) for name, kind in config.get("features", {}).items()}
        return cls(config.get("kind", cls.kind), features, config.get("heuristic"), config.get("score", {}))

    def named(self, kind: FeatureKind, observation_space: spaces.Dict) -> tuple[str, ...]:
        """Return the tensors of a kind, in the order of ``features``."""
        return tuple(name for name, own in self.features.items() if own == kind and name in observation_space.spaces)


def model_config(env: "str | gymnasium.Env[Any, Any] | type", network: NetworkConfig | None = None, **sizes: Any) -> dict[str, Any]:
    """Return the ``model_config`` of an RLModule for an environment: an id, an environment or a class of environments.

    Args:
        network: the size of the network; or its fields by name, as ``hidden=[256, 256]``.

    Example: ``{"network": {"hidden": (64, 64), ...}, "kind": "mlp", "features": {"progress": "fraction"}, "heuristic": "inlining_default"}``.
    """
    architecture = Architecture.of(class_of(env) if isinstance(env, str) else env)
    features = {name: kind.value for name, kind in architecture.features.items()}
    size = network or NetworkConfig.of({"network": sizes})
    facts = {"kind": architecture.kind, "features": features, "heuristic": architecture.heuristic, "score": dict(architecture.score)}
    return {"network": asdict(size), **facts}
