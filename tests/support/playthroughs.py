# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Playthroughs: a seeded episode of each environment as readable text, in which nothing depends on the machine.

``make playthroughs`` writes them anew. Actions are drawn from all that are allowed; floats have six significant digits, in checksums too.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import gymnasium
import numpy as np

from mlcb_gym import VERSIONS
from mlcb_gym._native import Message
from mlcb_gym.envs import environments
from mlcb_gym.rollout.random_policy import random
from mlcb_gym.session import Episode, EpisodeRequest, WorkerSession
from mlcb_gym.spec import TaskSpec

FOLDER = Path(__file__).parents[1] / "playthroughs"
SEED = 1
SHOWN = 12
"""Steps that are written out; of those behind them one checksum is."""
LONGEST = 72
"""Characters of a value that is written out; of one that is longer, a checksum is."""


class OverheardSession(WorkerSession):
    """A worker whose last message is kept, with tensors in the size in which they travel."""

    message: Message

    def begin(self, spec: TaskSpec, request: EpisodeRequest) -> Episode:
        episode = super().begin(spec, request)
        receive = episode.receive

        def overheard() -> Message:
            self.message = receive()
            return self.message

        episode.receive = overheard  # type: ignore[method-assign]
        return episode


def file_of(env_id: str) -> Path:
    """Where the playthrough of an environment is kept: in a file named after its task; of an earlier version, after its id."""
    return FOLDER / f"{next((task for task, known in environments().items() if known == env_id), env_id)}.txt"


def playthrough(env_id: str) -> str:
    """The text of seeded episodes with the environment's default arguments: as many as there are steps to show."""
    rng, shown = np.random.default_rng(SEED), 0
    with closing(OverheardSession()) as session, closing(gymnasium.make(env_id, session=session)) as env:
        text = _head(env_id, env.get_wrapper_attr("task_spec"))
        while shown < SHOWN:
            _, info = env.reset(seed=None if shown else SEED)
            steps, most = list(_steps(env, session, info, rng)), SHOWN - shown
            text += [f"episode on {info['program']}", *steps[:most], *_left_out(steps[most:-1]), *steps[most:][-1:]]
            shown += len(steps)
    return "\n".join(text) + "\n"


def _head(env_id: str, spec: TaskSpec) -> list[str]:
    parameters = [f"  {name} {_text(value)}" for name, value in sorted(spec.parameters.items())]
    return [f"environment {env_id}", f"seed {SEED}", f"spec {spec.digest}", "parameters", *parameters]


def _steps(env: gymnasium.Env[Any, Any], session: OverheardSession, info: Mapping[str, Any], rng: np.random.Generator) -> Iterator[str]:
    """Each step of an episode: what is asked, what is answered, and what comes of it; with the last one, the end."""
    draw, number, ended = random(rng), 0, False
    while not ended:
        asked = _question(env, session.message, info)
        action = draw(env.get_wrapper_attr("observation"))
        _, reward, terminated, truncated, info = env.step(action)
        ended, number = terminated or truncated, number + 1
        outcome = [f"  action {_text(action)}", f"  reward {_text(reward)}"]
        end = ["end", f"  terminated {terminated}, truncated {truncated}", *_known(info)] if ended else []
        yield "\n".join([f"step {number}", *asked, *outcome, *end])


def _question(env: gymnasium.Env[Any, Any], message: Message, info: Mapping[str, Any]) -> list[str]:
    agent = env.get_wrapper_attr("task_spec").agents[message.agent].name
    seen = [f"  {name} {tensor.dtype}{list(tensor.shape)} {_text(tensor)}" for name, tensor in message.tensors.items()]
    return [f"  asked {agent}", *seen, *_known(info)]


def _known(info: Mapping[str, Any]) -> list[str]:
    return [f"  info {name} {_text(value)}" for name, value in info.items()]


def _left_out(steps: list[str]) -> list[str]:
    return [f"{len(steps)} steps left out, checksum {_checksum(''.join(steps))}"] if steps else []


def _text(value: Any) -> str:
    """A value, a mask as bits; or a checksum of what is long."""
    flat = np.ravel(value).tolist()
    between = "" if getattr(value, "dtype", None) == np.int8 else " "
    words = between.join(f"{one:.6g}" if isinstance(one, float) else str(one) for one in flat)
    return (words or "empty") if len(words) <= LONGEST else f"{len(flat)} values, checksum {_checksum(words)}"


def _checksum(text: str) -> str:
    return f"{crc32(text.encode()):08x}"


if __name__ == "__main__":
    for one in {*environments().values(), *VERSIONS}:
        file_of(one).write_text(playthrough(one))
