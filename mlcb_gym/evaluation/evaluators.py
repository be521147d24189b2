# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The evaluation that the record of a task asks for."""

from collections.abc import Callable, Mapping

from mlcb_gym.envs import env_class
from mlcb_gym.evaluation.module_metrics import evaluate_metrics
from mlcb_gym.evaluation.report import Evaluation
from mlcb_gym.evaluation.run_time import evaluate_run_time

EVALUATORS: Mapping[str, Callable[..., Evaluation]] = {"metrics": evaluate_metrics, "run_time": evaluate_run_time}


def evaluator(task: str) -> Callable[..., Evaluation]:
    """Return the function that evaluates policies for a task; its keyword arguments are the options of the evaluation."""
    return EVALUATORS[env_class(task).record.evaluator]
