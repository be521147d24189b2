# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainings on a Ray cluster: a head and two nodes, with a core each."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from mlcb_gym.errors import TrainingError
from mlcb_gym.training.ray_session import join_ray
from mlcb_gym.training.run import recipe
from mlcb_gym.training.trainer import Trainer
from mlcb_gym.training.training_env import Environment
from tests.support.command_line import assert_one_line, mlcb

PROGRAM = "embedded/train/fft"
ENVIRONMENT = Environment("PosetRL-v0", {"programs": [PROGRAM], "max_steps": 5})
SMALL = {"steps_per_iteration": 64, "num_envs": 2, "num_env_runners": 2, "statistics_episodes": 2}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(2):
            made.add_node(num_cpus=1)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


@pytest.mark.slow
def test_runners_are_on_several_nodes_and_outlive_one(cluster: Cluster) -> None:
    join_ray(cluster.address)
    trainer = Trainer.begin(ENVIRONMENT, recipe("ppo", SMALL), [PROGRAM])
    try:
        trainer.update()
        nodes = trainer.algorithm.env_runner_group.foreach_env_runner(lambda _: ray.get_runtime_context().get_node_id(), local_env_runner=False)
        assert len(set(nodes)) == 2
        lost = next(node for node in cluster.worker_nodes if node.node_id in nodes)
        cluster.remove_node(lost, allow_graceful=False)
        before = trainer.steps
        for _ in range(2):
            trainer.update()
        assert trainer.steps > before
        assert not trainer.validate() or trainer.progress.best_ratio < 2
    finally:
        trainer.close()


@pytest.mark.slow
def test_command_trains_and_sweeps_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    small = [f"--set={name}={value}" for name, value in SMALL.items() if name != "num_env_runners"]
    common = ["--programs", PROGRAM, "--validation", PROGRAM, "--iterations", "2", "--address", cluster.address, "--algo", "ppo", *small]
    trained = mlcb("train", "posetrl", "-o", tmp_path / "run", "--runners", "2", *common)
    assert "best checkpoint" in trained.stdout, trained.stderr
    swept = mlcb("sweep", "posetrl", "-o", tmp_path / "sweep", "--trials", "2", "--search", "lr=log(1e-4,1e-3)", *common)
    assert "best checkpoint" in swept.stdout, swept.stderr


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:port"])
def test_address_without_a_ray_is_named(address: str) -> None:
    with pytest.raises(TrainingError, match=rf"^address {address}: no Ray answers there \(.*\), expected HOST:PORT, as `ray start --head` prints it"):
        join_ray(address)


def test_command_names_an_address_without_a_ray_before_anything_starts(tmp_path: Path) -> None:
    done = mlcb("train", "posetrl", "-o", tmp_path / "run", "--programs", PROGRAM, "--validation", PROGRAM, "--address", "127.0.0.1:1")
    assert_one_line(done, "address 127.0.0.1:1: no Ray answers there")
    assert not (tmp_path / "run").exists()
