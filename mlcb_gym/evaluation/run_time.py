# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluation of a policy by the run time of executables, against policies that do not learn and the fastest partition that was found."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from mlcb_gym.corpus.programs import Program, ProgramsLike, resolve
from mlcb_gym.evaluation.executables import GROUPS
from mlcb_gym.evaluation.partition_timing import AGAIN, ALWAYS, BASELINE, LLVM, OPTIMUM, Bounds, Contest, Tried
from mlcb_gym.evaluation.report import COUNTS, POLICY, Evaluation, check_counts
from mlcb_gym.export.clang_config import write_clang_config
from mlcb_gym.progress_bar import progress_bar

ROUNDS = 40
MARGIN = 0.01
COLUMN = "run time"
PAIRS = ((POLICY, LLVM), (POLICY, OPTIMUM))
SHOWN = (AGAIN, LLVM, ALWAYS, OPTIMUM, POLICY)


def evaluate_run_time(
    folder: Path, programs: ProgramsLike, *, best_of: Sequence[int] = COUNTS, rounds: int = ROUNDS, seed: int = 1, bounds: Bounds | None = None
) -> Evaluation:
    """Evaluate a policy folder on programs with a ``main``, built by clang with its configuration file, and timed one after the other.

    Args:
        best_of: the numbers of random partitions of which the fastest is taken.
        rounds: the runs of every executable, where a kernel is timed in ``GROUPS`` groups of runs; for the optimum as many again.

    Raises:
        TaskError: a number is less than 1.
        ProgramError: a program does not build, or prints other than at ``-O0``.
        CompilerError: one that is never split differs from the output of clang alone.
    """
    check_counts(best_of=best_of, rounds=[rounds])
    chosen = resolve(programs)
    seconds: dict[str, list[float | None]] = {}
    tried: list[Tried] = []
    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "mlcb.cfg"
        write_clang_config(config, [folder])
        for program in progress_bar(chosen, description="programs"):
            with tempfile.TemporaryDirectory(dir=name) as own:
                contest = Contest(program, Path(own), config=config, random=max(best_of, default=0), bounds=bounds or Bounds(), seed=seed)
                for method, taken in contest.seconds(rounds, best_of).items():
                    seconds.setdefault(method, []).append(taken)
                tried.append(contest.tried)
    return run_time_evaluation(folder.name, chosen, seconds, tried, rounds)


def run_time_evaluation(
    policy: str, programs: Sequence[Program], seconds: Mapping[str, list[float | None]], tried: Sequence[Tried], rounds: int
) -> Evaluation:
    """Return the evaluation with the seconds of every program under every method, in the order of ``programs``."""
    return Evaluation(
        policy=policy,
        programs=[program.name for program in programs],
        projects=[program.project for program in programs],
        baseline=BASELINE,
        seconds=dict(seconds),
        time=COLUMN,
        pairs=PAIRS,
        optimum=OPTIMUM,
        margin=MARGIN,
        verdicts=("faster", "slower"),
        conditions=f", each run in {rounds} rounds (kernels {GROUPS} groups of runs in each)",
        notes=[bounded(tried)],
        details={"rounds": rounds, "tried": list(tried)},
        shown=SHOWN,
    )


def bounded(tried: Sequence[Tried]) -> str:
    """Return a sentence on what the optimum is the best of."""
    some = [each for each in tried if not each.all_cuts]
    drawn = f", in {len(some)} programs of {some[0].cuts} drawn ones" if some else ""
    executables = sum(each.executables for each in tried)
    return (
        f"optimum: the fastest of all cuts{drawn}, the same in all loops of a program, and of {tried[0].orders} drawn orders; in all "
        f"{executables} different executables, the fastest timed anew"
    )
