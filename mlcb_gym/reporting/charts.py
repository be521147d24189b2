# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pictures of a page, each as the text of an SVG file."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlcb_gym.picture import picture
from mlcb_gym.reporting.runs import Group

RATIO = "ratio to LLVM's own heuristic"


def drawn(write: Callable[[Path], None]) -> str:
    """Return the picture that a function writes to a path; empty where it writes none."""
    with tempfile.TemporaryDirectory(prefix="mlcb-") as folder:
        path = Path(folder) / "picture.svg"
        write(path)
        return path.read_text() if path.exists() else ""


def learning_curves(groups: Sequence[Group]) -> str:
    """Draw the validations of each group: the geometric mean of its seeds, and the band between the lowest and the highest."""

    def draw(axes: Any) -> None:
        for group in groups:
            steps, curves = group.curve
            mean = np.exp(np.mean(np.log(curves), axis=0))
            (line,) = axes.plot(steps, mean, marker=".", label=f"{group.title} ({group.seeds})")
            axes.fill_between(steps, np.min(curves, axis=0), np.max(curves, axis=0), color=line.get_color(), alpha=0.2, linewidth=0)
        axes.axhline(1.0, color="black", linewidth=0.8)
        axes.set(xlabel="environment steps", ylabel=f"validation: {RATIO}")
        axes.legend(fontsize="small")

    return _figure(draw, (10, 4.5))


def time_parts(groups: Sequence[Group]) -> str:
    """Draw the wall time of each group by part."""

    def draw(axes: Any) -> None:
        left = np.zeros(len(groups))
        for part in sorted({part for group in groups for part in group.seconds}):
            seconds = np.array([group.seconds.get(part, 0.0) for group in groups])
            axes.barh(range(len(groups)), seconds, left=left, label=part)
            left += seconds
        axes.set_yticks(range(len(groups)), [group.title for group in groups])
        axes.set(xlabel="wall time of the updates, s")
        axes.invert_yaxis()
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))

    return _figure(draw, (10, 1.2 + 0.4 * len(groups)))


def actions_taken(steps: Sequence[int], shares: np.ndarray) -> str:
    """Draw the share of each action, update by update."""

    def draw(axes: Any) -> None:
        extent = (0.5, len(steps) + 0.5, shares.shape[1] - 0.5, -0.5)
        image = axes.imshow(shares.T, aspect="auto", interpolation="nearest", cmap="viridis", extent=extent, vmin=0)
        axes.set(xlabel="update", ylabel="action")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.figure.colorbar(image, label="share")

    return _figure(draw, (10, min(6.0, 1.5 + 0.2 * shares.shape[1])))


def _figure(draw: Callable[[Any], None], size: tuple[float, float]) -> str:
    def write(path: Path) -> None:
        with picture(path, size) as (_, axes):
            draw(axes)
            axes.grid(linewidth=0.3)

    return drawn(write)
