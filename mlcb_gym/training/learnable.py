# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a recipe can learn an environment, and on which programs, known before anything starts."""

import json
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.errors import TrainingError
from mlcb_gym.session import Fleet
from mlcb_gym.spec import TaskSpec
from mlcb_gym.training.recipe import Recipe
from mlcb_gym.training.registry import algorithms, recipe_class
from mlcb_gym.training.training_env import Environment


def check_learns(recipe: Recipe, environment: Environment) -> None:
    """Raise TrainingError where the recipe does not learn the agents of the environment, or its reward."""
    with closing(environment.make(1)) as envs:
        env = envs.unwrapped.envs[0]
        _check_ratio(environment, env)
        if isinstance(env.session, Fleet) and env.session.lost:
            raise TrainingError(f"{'; '.join(env.session.lost.values())}: expected all compilers to answer when a training begins")
        spec = env.task_spec
    rule = environment.arguments.get("sampling", "uniform")
    if rule != "uniform" and not recipe.draws:
        raise TrainingError(f"sampling={rule}: {recipe.algorithm} does not draw its programs one by one, expected uniform")
    if what := unlearnable(type(recipe), spec):
        raise TrainingError(f"{environment.id}: asks {what}, which {recipe.algorithm} does not learn, expected algorithm {_those_that_learn(spec)}")


def unlearnable(recipe: type[Recipe], spec: TaskSpec) -> str | None:
    """Return what a task asks for and a recipe does not learn: ``"for a value"``, ``"several agents"``; None where it learns all."""
    if not recipe.learns_values and any(agent.advice["kind"] == "value" for agent in spec.agents):
        return "for a value"
    return "several agents" if not recipe.learns_teams and len(spec.agents) > 1 else None


def find_programs(environment: Environment, validation: Sequence[str]) -> tuple[Sequence[Program], Sequence[Program]]:
    """Return the programs of the training and of the validation.

    Raises:
        ProgramError: some are not there, or cannot be compiled.
    """
    return resolve(environment.arguments["programs"]), resolve(validation)


def seen(learnt: Sequence[Program], judged: Sequence[Program]) -> str:
    """Return what is to say where programs are both learnt from and validated on; nothing where none is."""
    both = {program.digest for program in learnt} & {program.digest for program in judged}
    names = [program.name for program in judged if program.digest in both]
    if not names:
        return ""
    return f"{len(names)} of {len(judged)} programs to validate are learnt from, as {names[0]}: the best checkpoint says little about others"


def _check_ratio(environment: Environment, env: Any) -> None:
    """Raise TrainingError where the metrics of a reward give no ratio to the compiler's own heuristic, which policies are compared by."""
    reward = environment.arguments.get("reward", "of this environment")
    if env.objective is None:
        raise TrainingError(f"{environment.id}: reward {reward} measures nothing to compare policies by, expected one with a ratio")
    if missing := sorted(set(env.objective) - set(env.metrics)):
        raise TrainingError(
            f"{environment.id}: policies are compared by {' / '.join(env.objective)}, and reward {reward} does not measure {', '.join(missing)}: "
            f"expected metrics={json.dumps(env.objective)} (--env 'metrics={json.dumps(env.objective)}'), or another reward"
        )


def _those_that_learn(spec: TaskSpec) -> str:
    return " or ".join(name for name in algorithms() if unlearnable(recipe_class(name), spec) is None)
