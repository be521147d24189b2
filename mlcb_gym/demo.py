# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The demonstration: a policy is trained for some minutes, exported, and decides inside an unmodified clang, on programs it never saw."""

import shutil
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.command import run
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs import env_class
from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.errors import ProgramError, TaskError, ToolchainError
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.export import export_policy
from mlcb_gym.picture import picture
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.onnx_policy import OnnxPolicy
from mlcb_gym.rollout.play import episode, play, play_in_order
from mlcb_gym.rollout.random_policy import random
from mlcb_gym.rollout.trace import geomean
from mlcb_gym.session.objects import object_size
from mlcb_gym.training.imitation.behavioural_cloning import clone_heuristic
from mlcb_gym.training.run import recipe
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.training_env import Environment

ABOUT_SIZE = ("posetrl", "function_posetrl")
"""The shipped policies beside the new one."""

PROGRAMS = "embedded/test"
MARK, TRAINING, POLICY, COMPILED, CONFIG, PICTURE = ".mlcb-demo", "train", "policy", "compiled", "mlcb.cfg", "demo.png"
MADE = (TRAINING, POLICY, COMPILED, CONFIG, PICTURE)
"""What a demo makes in its folder."""

RANDOM_EPISODES, SEED = 10, 1
RUN_SECONDS = 60.0

Ratios = dict[str, list[float]]
"""Size against -Oz of each program, by policy."""


def emptied(folder: Path) -> Path:
    """Return a folder for a demo: a new or empty one, or that of an earlier demo without what that made.

    Raises:
        TaskError: it holds other things.
    """
    mark = folder / MARK
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        raise TaskError(f"{folder}: holds other things than a demo, expected an empty folder or one to replace")
    folder.mkdir(parents=True, exist_ok=True)
    mark.touch()
    for name in MADE:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return folder


def demonstrate(folder: Path, *, minutes: float, console: Console) -> None:
    """Train for so many minutes, export, compile programs never seen, and draw what came of it, all in an empty folder.

    Without clang 22 the sizes are those of the environment, and no program is run.

    Raises:
        ProgramError: a program compiled with a policy prints something else than its unoptimized build.
    """
    started = time.monotonic()
    console.rule("1. Train: a clone of LLVM's own inliner, then PPO, which decides at every call of 18 programs")
    checkpoint = _trained(folder / TRAINING, minutes, console)
    console.rule("2. Export: ONNX and policy.json")
    policy = export_policy(checkpoint, folder / POLICY)
    console.print(f"{policy}: {', '.join(sorted(path.name for path in policy.iterdir()))}")
    policies = {"trained just now": policy} | {f"shipped {name.replace('_', ' ')}": shipped()[name] for name in ABOUT_SIZE}
    programs = resolve(PROGRAMS)
    ratios = _in_clang(policies, programs, folder, console) if _has_clang() else _in_environment(policies, programs, console)
    ratios["random episode"], ratios[f"best of {RANDOM_EPISODES} random"] = _random(programs, console)
    _report(programs, ratios, folder / PICTURE, console)
    console.print(f"in {(time.monotonic() - started) / 60:.1f} minutes; curves: tensorboard --logdir {folder}")


def _trained(folder: Path, minutes: float, console: Console) -> Path:
    environment = Environment("Inliner-v0", {"programs": "embedded/train"})
    chosen = recipe("mlgo", {"seed": SEED, "num_envs": 4, "steps_per_iteration": 2048})
    clone = clone_heuristic(environment, chosen)
    budget = Budget(seconds=60 * minutes, validate_every=5)
    validation = resolve("embedded/validation")
    return train(environment, recipe=chosen, validation=validation, output=folder, budget=budget, weights=clone, console=console)


def _has_clang() -> bool:
    try:
        toolchain.tool("clang")
    except ToolchainError:
        return False
    return True


def _in_clang(policies: dict[str, Path], programs: Sequence[Program], folder: Path, console: Console) -> Ratios:
    console.rule("3. Compile programs never seen, in process, in stock clang; run them; compare their output")
    ratios = {}
    for label, policy in policies.items():
        config = write_clang_config(folder / CONFIG, [policy])
        steps = track(programs, description=label, console=console, transient=True)
        ratios[label] = [_compiled(program, config.resolve(), folder / COMPILED) for program in steps]
        console.print(f"{label}: {len(programs)} of {len(programs)} programs print what their unoptimized build prints")
    return ratios


def _in_environment(policies: dict[str, Path], programs: Sequence[Program], console: Console) -> Ratios:
    console.rule("3. Compile programs never seen; there is no clang 22 to put the policy into, and to run them")
    ratios = {}
    for label, folder in policies.items():
        policy = OnnxPolicy(folder)
        made = env_class(policy.task)
        with closing(made(programs=programs, **policy.env_arguments, **made.record.evaluation)) as env:
            ratios[label] = [trace.ratio for trace in play_in_order([env], (episode(program, policy.player(env)) for program in programs))]
    return ratios


def _compiled(program: Program, config: Path, folder: Path) -> float:
    """Return the size against -Oz of a program that clang compiles with a policy, and which prints what its unoptimized build prints."""
    source = corpora.embedded(program.uri)[0]
    expected, printed = (_run(_clang(source, folder, *flags)) for flags in (["-O0"], [f"--config={config}", "-Oz"]))
    if printed != expected:
        raise ProgramError(f"{program.name}: compiled with the policy it prints {printed!r}, expected {expected!r}")
    own, stock = (object_size(_clang(source, folder, "-c", *flags)) for flags in (["-Oz", f"--config={config}"], ["-Oz"]))
    return own / stock


def _clang(source: Path, folder: Path, *flags: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / source.stem
    run([toolchain.tool("clang"), *flags, source, "-o", output], subject=source.name)
    return output


def _run(program: Path) -> bytes:
    return run([program.resolve()], subject=program.name, seconds=RUN_SECONDS)


def _random(programs: Sequence[Program], console: Console) -> tuple[list[float], list[float]]:
    """Return what decisions drawn at random come to: one episode, and the best of several."""
    rng = np.random.default_rng(SEED)
    with closing(InlinerEnv(programs=programs, **InlinerEnv.record.evaluation)) as env:
        scripts = [episode(program, random(rng)) for program in programs for _ in range(RANDOM_EPISODES)]
        traces = list(track(play([env], scripts), description="random", total=len(scripts), console=console, transient=True))
    drawn = [[trace.ratio for trace in traces if trace.program == program.name] for program in programs]
    return [first for first, *_ in drawn], [min(ratios) for ratios in drawn]


def _report(programs: Sequence[Program], ratios: Ratios, path: Path, console: Console) -> None:
    """Print the table, and draw the same."""
    table = Table("program", *ratios, title="bytes of all allocated sections but BSS, against clang -Oz")
    for i, program in enumerate(programs):
        table.add_row(program.project, *(f"{values[i]:.3f}" for values in ratios.values()))
    table.add_section()
    table.add_row("geomean", *(f"{geomean(values):.3f}" for values in ratios.values()))
    console.print(table)
    _draw(programs, ratios, path)
    console.print(f"picture: {path}")


def _draw(programs: Sequence[Program], ratios: Ratios, path: Path) -> None:
    width = 0.8 / len(ratios)
    with picture(path, (10, 4.5)) as (_, axes):
        for i, (label, values) in enumerate(ratios.items()):
            axes.bar(np.arange(len(programs)) + i * width, np.array(values) - 1, width, bottom=1, label=f"{label}: {geomean(values):.3f}")
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_xticks(np.arange(len(programs)) + 0.4, [program.project for program in programs], rotation=30, ha="right")
        axes.set(ylabel="size / size of clang -Oz")
        axes.legend(fontsize="small")
