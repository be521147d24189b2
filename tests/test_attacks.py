# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sample of `make check-attacks`: nothing is lost beyond what was under way, and nothing is left."""

from scripts.attacks import connections, kills, soak


def test_killed_processes_lose_one_episode_and_leave_nothing() -> None:
    missed = [figure for figure in kills.figures(6, seed=1, env_ids=("Inliner-v0",)) if figure.verdict == "MISSED"]
    assert missed == []


def test_relay_serves_at_once_after_hostile_connections() -> None:
    opened, *_, after = connections.figures(40, seed=1)
    assert (opened.verdict, after.verdict) == ("must met", "must met")


def test_episodes_leave_no_descriptor_to_their_learner() -> None:
    of = [figure for figure in soak.figures(20, ["Inliner-v0"]) if (figure.name, figure.unit) == ("growth of the learner, at most", "descriptors")]
    assert [figure.value for figure in of] == [0]
