# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb report``: trainings, sweeps and evaluations on one page."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    folders: Annotated[list[Path], typer.Argument(help="Folders that `mlcb train`, `mlcb sweep` or `mlcb evaluate` wrote.", metavar="FOLDER...")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
) -> None:
    """Write one self-contained HTML page: learning curves with the band of the seeds, actions taken, where the time went, results program by program,
    sweeps. Runs that differ in their seed alone are one curve.
    """
    from mlcb_gym.reporting.page import write_report

    write_report(folders, output)
    print(output)
