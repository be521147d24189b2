# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The file of `mlcb clang-config`: with all it needs beside it, it works wherever its folder lies, and the same folder makes the same files."""

import json
import re
import shutil
import subprocess
from math import inf, nan
from pathlib import Path

import pytest

from mlcb_gym import toolchain
from mlcb_gym.errors import PolicyError
from mlcb_gym.export import clang_config
from mlcb_gym.export.aot import compiled
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.deployed import runner_uri
from mlcb_gym.onnx.manifest import MANIFEST
from mlcb_gym.policies import shipped
from tests.support.builds import clang, run

SOURCE = "int step(int x) { return x & 1 ? 3 * x + 1 : x / 2; }\nint main(int argc, char **argv) { return step(argc) != 4; }\n"
TASKS = ("posetrl", "function_size", "eviction")


def bundle(folder: Path, *, lto: bool = False) -> Path:
    policies = [shipped()[task] for task in TASKS]
    return write_clang_config(folder / "mlcb.cfg", policies, lto=lto, bundle=True, uri=lambda policy: runner_uri(compiled(policy)))


@pytest.fixture
def moved(tmp_path: Path) -> Path:
    """A bundle that was made elsewhere, and a source."""
    bundle(tmp_path / "made", lto=True)
    (tmp_path / "made").rename(tmp_path / "moved")
    (tmp_path / "source.c").write_text(SOURCE)
    return tmp_path / "moved" / "mlcb.cfg"


def test_nothing_names_the_place_where_it_was_made(tmp_path: Path) -> None:
    config = bundle(tmp_path, lto=True)
    texts = [config.read_text(), config.with_name("mlcb.cfg.so.options").read_text()]
    assert not any(str(place) in text for text in texts for place in (tmp_path, toolchain.plugin().parent, shipped()["posetrl"]))


def test_policies_decide_where_it_was_moved_to(moved: Path, tmp_path: Path) -> None:
    said = clang(moved, tmp_path, "-Oz", "-Rpass=mlcb", "-c", "source.c", "-o", "own.o").stderr
    assert "posetrl: 1 decision" in said
    in_place = write_clang_config(tmp_path / "in-place.cfg", [shipped()[task] for task in TASKS])
    clang(in_place, tmp_path, "-Oz", "-c", "source.c", "-o", "in-place.o")
    assert (tmp_path / "own.o").read_bytes() == (tmp_path / "in-place.o").read_bytes()


@pytest.mark.parametrize("kind", ["full", "thin"])
def test_links_find_their_policies_beside_it(kind: str, moved: Path, tmp_path: Path) -> None:
    said = clang(moved, tmp_path, "-Oz", f"-flto={kind}", "source.c", "-o", "program", "-Wl,-mllvm,-pass-remarks=mlcb").stdout
    assert "posetrl: 1 decision" in said
    run(["./program"], tmp_path)


def test_recorded_command_line_is_that_of_every_machine_with_the_same_folder(moved: Path, tmp_path: Path) -> None:
    recorded = []
    for name in ("first", "second"):
        clang(moved, tmp_path, "-Oz", "-g", "-grecord-command-line", "-c", "source.c", "-o", "source.o")
        recorded.append((tmp_path / "source.o").read_bytes())
        shutil.copytree(moved.parent, tmp_path / name, symlinks=True)
        shutil.rmtree(moved.parent)
        (tmp_path / name).rename(moved.parent)
    assert recorded[0] == recorded[1]
    producer = subprocess.run([toolchain.tool("llvm-dwarfdump"), tmp_path / "source.o"], capture_output=True, text=True, timeout=60).stdout
    assert f"-mlcb-runner=aot:{moved.parent}/posetrl-" in producer


def test_jobs_without_a_guard_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"^jobs=3: only the guard tries several ways, expected it or candidates, or one job$"):
        write_clang_config(tmp_path / "mlcb.cfg", [shipped()["posetrl"]], jobs=3)


@pytest.mark.parametrize(
    ("tasks", "budget", "candidates"),
    [
        (["posetrl"], 2, 1),
        (["posetrl"], 4, 3),
        (["posetrl"], 3.9, 2),
        (["posetrl", "function_size"], 3, 1),
        (["posetrl", "function_size"], 4.5, 1),
        (["posetrl", "function_size"], 5, 2),
        (["posetrl", "inliner"], 3, 2),
        (["function_size", "eviction"], 7, 3),
    ],
)
def test_budget_is_as_many_candidates_as_it_has_builds_for(tasks: list[str], budget: float, candidates: int, tmp_path: Path) -> None:
    policies = [shipped()[task] for task in tasks]
    chosen = write_clang_config(tmp_path / "budget.cfg", policies, budget=budget, jobs=2)
    assert f"\n-mlcb-candidates={candidates}\n" in chosen.read_text()
    assert chosen.read_bytes() == write_clang_config(tmp_path / "candidates.cfg", policies, candidates=candidates, jobs=2).read_bytes()


@pytest.mark.parametrize(("tasks", "smallest"), [(["posetrl"], 2), (["posetrl", "function_size"], 3), (["inliner", "posetrl"], 2)])
@pytest.mark.parametrize("budget", [1.9, 0.0, -3.0, nan, inf])
def test_budget_for_no_candidate_is_refused(tasks: list[str], smallest: int, budget: float, tmp_path: Path) -> None:
    expected = f"budget={budget}: expected a finite number, at least {smallest}: a build of stock and one of each of "
    with pytest.raises(PolicyError, match=f"^{re.escape(expected)}"):
        write_clang_config(tmp_path / "mlcb.cfg", [shipped()[task] for task in tasks], budget=budget)
    assert list(tmp_path.iterdir()) == []


def test_budget_beside_candidates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"^budget=3, candidates=2: a budget chooses the number of candidates, expected one of the two$"):
        write_clang_config(tmp_path / "mlcb.cfg", [shipped()["posetrl"]], budget=3, candidates=2)


def test_budget_for_policies_that_cannot_be_tried_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"^budget=3: inliner cannot be tried action by action: expected a policy that can, as function_size$"):
        write_clang_config(tmp_path / "mlcb.cfg", [shipped()["inliner"]], budget=3)


def test_policies_of_one_name_are_refused(tmp_path: Path) -> None:
    for task in ("posetrl", "eviction"):
        shutil.copytree(shipped()[task], tmp_path / task / "policy")
    with pytest.raises(PolicyError, match=r"^policy, policy: expected policies of different names, to lie in one folder$"):
        write_clang_config(tmp_path / "mlcb.cfg", [tmp_path / task / "policy" for task in ("posetrl", "eviction")], bundle=True)


def test_bundle_beside_its_own_policies_keeps_what_lies_there(tmp_path: Path) -> None:
    policy = Path(shutil.copytree(shipped()["posetrl"], tmp_path / "posetrl"))
    (policy / "notes").write_text("mine")
    write_clang_config(tmp_path / "mlcb.cfg", [policy], bundle=True)
    assert (policy / "notes").read_text() == "mine"


def test_bundle_does_not_replace_a_folder_of_other_things(tmp_path: Path) -> None:
    (tmp_path / "posetrl").mkdir()
    (tmp_path / "posetrl" / "thesis").write_text("mine")
    with pytest.raises(PolicyError, match=r"posetrl: holds other things than a policy, expected an empty folder or one to replace$"):
        write_clang_config(tmp_path / "mlcb.cfg", [shipped()["posetrl"]], bundle=True)
    assert (tmp_path / "posetrl" / "thesis").read_text() == "mine"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"parameters": None}, "'parameters' missing or of another type"),
        ({"parameters": [1]}, "'parameters' missing or of another type"),
        ({"parameters": {"actions": 5}}, "function_size: parameter 'actions' is 5, expected an array"),
        ({"parameters": {"other": 1}}, "function_size: unknown parameter 'other'"),
        ({"spec": None}, "'spec' missing or of another type"),
        ({"agents": {"advisor": "a\ud800"}}, r"agent 'advisor' has its model in 'a\\ud800', expected the name of a file"),
    ],
)
def test_manifest_that_is_slightly_wrong_is_one_line(changed: dict[str, object], expected: str, tmp_path: Path) -> None:
    policy = Path(shutil.copytree(shipped()["function_size"], tmp_path / "policy"))
    manifest = json.loads((policy / MANIFEST).read_text())
    (policy / MANIFEST).write_text(json.dumps(manifest | changed))
    with pytest.raises(PolicyError, match=rf"^{policy}/{MANIFEST}: {expected}[^\n]*$"):
        write_clang_config(tmp_path / "bundle" / "mlcb.cfg", [policy], bundle=True)


def test_what_a_killed_process_left_in_a_policys_folder_decides_nothing(tmp_path: Path) -> None:
    policy = Path(shutil.copytree(shipped()["inliner"], tmp_path / "inliner"))
    before = clang_config._digest([policy], [])
    (policy / ".policy.so.04c4d995").write_bytes(b"unfinished")
    assert clang_config._digest([policy], []) == before


def test_two_policies_in_the_place_of_the_optimizations_need_the_guard(tmp_path: Path) -> None:
    both = [shipped()["posetrl"], shipped()["function_posetrl"]]
    with pytest.raises(PolicyError, match="posetrl, function_posetrl: each takes the place of the optimizations: expected one of them, or --guard"):
        write_clang_config(tmp_path / "mlcb.cfg", both)
    write_clang_config(tmp_path / "mlcb.cfg", both, guard=True)
