# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported policies: in ONNX Runtime here, and in the runners of a compiler."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as refusals

from mlcb_gym import _native
from mlcb_gym.envs import env_class
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.envs.record import Observation
from mlcb_gym.errors import PolicyError
from mlcb_gym.onnx.manifest import read_manifest
from mlcb_gym.regular_file import read_regular
from mlcb_gym.rollout.advice import advice_of
from mlcb_gym.rollout.play import Choose, Delegate
from mlcb_gym.spec import acting_agent

REFUSALS = (refusals.Fail, refusals.InvalidArgument, refusals.InvalidGraph, refusals.InvalidProtobuf, refusals.NotImplemented)
"""What ONNX Runtime says of a model that it cannot run."""


class OnnxPolicy:
    """A policy folder in ONNX Runtime, on one thread: a session for each agent."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.manifest = folder, read_manifest(folder)
        paths = [folder / model for model in self.manifest["agents"].values()]
        self._models = [_read(path) for path in paths]
        self.sessions = [_session(path, model) for path, model in zip(paths, self._models, strict=True)]
        self._inputs = [{i.name: len(i.shape) for i in session.get_inputs()} for session in self.sessions]

    @property
    def task(self) -> str:
        """The task of the policy."""
        return str(self.manifest["task"])

    @property
    def env_arguments(self) -> dict[str, Any]:
        """The arguments of the environment that the policy is for.

        Raises:
            PolicyError: the folder lacks one, as it was exported before the task had all of its parameters.
        """
        expected, given = env_class(self.task).parameters, self.manifest["parameters"]
        if missing := [name for name in expected if name not in given]:
            raise PolicyError(f"{self.folder}: {self.task} has no parameter {', '.join(missing)} there, expected a policy that is exported anew")
        return {name: given[name] for name in expected}

    def logits(self, observation: Observation) -> np.ndarray:
        """Return the logits of one observation, ``[actions]``, without the mask; or the value, ``[1]``."""
        agent, seen = acting_agent(observation)
        # A scalar of the compiler is a vector of one here, and what is empty is not observed.
        feed = {name: np.reshape(seen[name], (1, *seen[name].shape)[:rank]) for name, rank in self._inputs[agent].items()}
        result: np.ndarray = self.sessions[agent].run(None, feed)[0][0]
        return result

    def advice(self, observation: Observation) -> int | float:
        """Return the advice: the best allowed choice, or the value."""
        return advice_of(self.logits(observation), observation)

    def player(self, env: CompilerEnv) -> Choose:
        """Return the policy's actions in an environment.

        Raises:
            PolicyError: the environment is bound with other parameters than the policy.
        """
        if env.task_spec.digest != self.manifest["digest"]:
            raise PolicyError(f"{self.folder}: made for {self.task} with other parameters, expected an environment with those of the policy")
        return lambda observation: env.action(self.advice(observation))

    def delegate(self, observation: Observation) -> Delegate:
        """Delegate this decision and all later ones to the models, in the compiler."""
        return Delegate(self._models)


def in_process(uri: str, observations: Sequence[Observation]) -> list[int | float]:
    """Return the advice of a policy in a runner of the compiler."""
    with closing(_native.Compiler.open(uri)) as compiler:
        return [compiler.observe(*acting_agent(observation)) for observation in observations]


def _read(path: Path) -> bytes:
    """Return a model that runs in bounded time, as compilers demand it."""
    try:
        model = read_regular(path)
    except OSError as error:
        raise PolicyError(f"{path}: {error.strerror}") from error
    _native.check_graph(str(path), model)
    return model


def _session(path: Path, model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what fails is told by an exception; the log would write names of the model to the terminal as they are
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.load_model_format", "ONNX")
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(path.parent.absolute()))
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except REFUSALS as error:
        raise PolicyError(f"{path}: {str(error).partition(chr(10))[0]}") from error
