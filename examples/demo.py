# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`make demo`: trains a policy for some minutes, exports it, and lets it decide inside an unmodified clang, on programs it never saw."""

import os
import shutil
import subprocess
import time
from contextlib import closing
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from mlcb_gym import toolchain
from mlcb_gym.corpus import corpora
from mlcb_gym.corpus.programs import Program, resolve
from mlcb_gym.envs.inliner import InlinerEnv
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.export.export import export_policy
from mlcb_gym.policies import shipped
from mlcb_gym.rollout.play import episode, play
from mlcb_gym.rollout.random_policy import random
from mlcb_gym.rollout.trace import geomean
from mlcb_gym.session.objects import object_size
from mlcb_gym.training.imitation.behavioural_cloning import clone_heuristic
from mlcb_gym.training.run import recipe
from mlcb_gym.training.train import Budget, train
from mlcb_gym.training.training_env import Environment

MINUTES = float(os.environ.get("DEMO_MINUTES", "4"))
OUTPUT = Path("runs/demo")
ABOUT_SIZE = ("inliner", "posetrl")
RANDOM_EPISODES, SEED = 10, 1

console = Console()


def main() -> None:
    started = time.monotonic()
    shutil.rmtree(OUTPUT, ignore_errors=True)
    console.rule("1. Train: a clone of LLVM's own inliner, then PPO, which decides at every call of 18 programs")
    checkpoint = train_policy()
    console.rule("2. Export: ONNX and policy.json")
    policy = export_policy(checkpoint, OUTPUT / "policy")
    console.print(f"{policy}: {', '.join(sorted(p.name for p in policy.iterdir()))}")
    console.rule("3. Compile programs never seen, in process, in stock clang; run them; compare their output")
    programs = resolve("embedded/test")
    policies = {"trained just now": policy} | {f"shipped ({name})": shipped()[name] for name in ABOUT_SIZE}
    ratios = {label: compile_and_check(path, programs, label) for label, path in policies.items()}
    ratios["random episode"], ratios[f"best of {RANDOM_EPISODES} random"] = random_null(programs)
    report(programs, ratios)
    console.print(f"in {(time.monotonic() - started) / 60:.1f} minutes; curves: tensorboard --logdir {OUTPUT}")


def train_policy() -> Path:
    environment = Environment("Inliner-v0", {"programs": "embedded/train"})
    chosen = recipe("mlgo", {"seed": SEED, "num_envs": 4, "steps_per_iteration": 2048})
    clone = clone_heuristic(environment, chosen)
    budget = Budget(seconds=60 * MINUTES, validate_every=5)
    validation, folder = resolve("embedded/validation"), OUTPUT / "train"
    return train(environment, recipe=chosen, validation=validation, output=folder, budget=budget, weights=clone, console=console)


def compile_and_check(policy: Path, programs: tuple[Program, ...], label: str) -> list[float]:
    """Size against -Oz of each program, compiled by clang with the policy; the program must print what its unoptimised build prints."""
    config = OUTPUT / "mlcb.cfg"
    write_clang_config(config, [policy])
    ratios = []
    for program in track(programs, description=label, console=console, transient=True):
        source = source_of(program)
        expected = run(clang(source, "-O0"))
        actual = run(clang(source, f"--config={config.resolve()}", "-Oz"))
        if actual != expected:
            raise SystemExit(f"{program.name}: compiled with the policy it prints {actual!r}, expected {expected!r}")
        sizes = [object_size(clang(source, "-c", *flags)) for flags in (["-Oz", f"--config={config.resolve()}"], ["-Oz"])]
        ratios.append(sizes[0] / sizes[1])
    console.print(f"{label}: {len(programs)} of {len(programs)} programs print what their unoptimised build prints")
    return ratios


def random_null(programs: tuple[Program, ...]) -> tuple[list[float], list[float]]:
    """Decisions drawn at random: one episode, and the best of several."""
    rng = np.random.default_rng(SEED)
    with closing(InlinerEnv(programs=programs)) as env:
        jobs = [episode(program, random(rng)) for program in programs for _ in range(RANDOM_EPISODES)]
        traces = list(track(play([env], jobs), description="random", total=len(jobs), console=console, transient=True))
    by_program = {p.name: [t.ratio for t in traces if t.program == p.name] for p in programs}
    return [r[0] for r in by_program.values()], [min(r) for r in by_program.values()]


def report(programs: tuple[Program, ...], ratios: dict[str, list[float]]) -> None:
    """The table, and the same as a picture."""
    table = Table("program", *ratios, title="bytes of all allocated sections but BSS, against clang -Oz")
    for i, program in enumerate(programs):
        table.add_row(program.project, *(f"{values[i]:.3f}" for values in ratios.values()))
    table.add_section()
    table.add_row("geomean", *(f"{geomean(values):.3f}" for values in ratios.values()))
    console.print(table)
    draw(programs, ratios, OUTPUT / "demo.png")
    console.print(f"picture: {OUTPUT / 'demo.png'}")


def draw(programs: tuple[Program, ...], ratios: dict[str, list[float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(10, 4.5), layout="constrained")
    width = 0.8 / len(ratios)
    for i, (label, values) in enumerate(ratios.items()):
        axes.bar(np.arange(len(programs)) + i * width, np.array(values) - 1, width, bottom=1, label=f"{label}: {geomean(values):.3f}")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks(np.arange(len(programs)) + 0.4, [p.project for p in programs], rotation=30, ha="right")
    axes.set(ylabel="size / size of clang -Oz")
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)


def source_of(program: Program) -> Path:
    return corpora.embedded(program.uri)[0]


def clang(source: Path, *flags: str) -> Path:
    output = OUTPUT / "compiled"
    output.mkdir(parents=True, exist_ok=True)
    result = output / source.stem
    subprocess.run([toolchain.tool("clang"), *flags, source, "-o", result], check=True)
    return result


def run(program: Path) -> str:
    return subprocess.run([program.resolve()], check=True, capture_output=True, text=True, timeout=60).stdout


if __name__ == "__main__":
    main()
