# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every environment plays a seeded episode as it is on record; `make playthroughs` records anew what is meant to change."""

from difflib import unified_diff

import pytest

from mlcb_gym import VERSIONS
from mlcb_gym.envs import environments
from tests.support.playthroughs import file_of, playthrough


@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
@pytest.mark.parametrize("env_id", sorted({*environments().values(), *VERSIONS}))
def test_episode_is_as_it_is_on_record(env_id: str) -> None:
    assert file_of(env_id).exists(), f"{env_id} has no recorded episode: run make playthroughs"
    recorded, played = file_of(env_id).read_text(), playthrough(env_id)
    differences = "\n".join(unified_diff(recorded.splitlines(), played.splitlines(), "recorded", "played", lineterm=""))
    assert not differences, differences
