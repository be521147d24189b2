# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb doctor``: what this machine has, what it lacks, and what works without that."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from mlcb_gym.tools.doctor import Finding


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print a list of objects instead.")] = False) -> None:
    """Look for every part that is used, a line each; exit code 1 where one is missing that everything needs."""
    from mlcb_gym.tools.doctor import checks, examine

    findings = examine(checks())
    print(json.dumps(list(map(_object, findings)), indent=1) if as_json else _lines(findings))
    if any(finding.check.needed and not finding.ok for finding in findings):
        raise typer.Exit(1)


def _object(finding: "Finding") -> dict[str, Any]:
    check = finding.check
    missing = {} if finding.ok else {"install": check.install, "works_without": check.without}
    return {"name": check.name, "ok": finding.ok, "needed": check.needed, "said": finding.said} | missing


def _lines(findings: Sequence["Finding"]) -> str:
    width = max(len(finding.check.name) for finding in findings)
    return "\n".join(f"{'OK     ' if finding.ok else 'missing'}  {finding.check.name:{width}}  {_explained(finding)}" for finding in findings)


def _explained(finding: "Finding") -> str:
    if finding.ok:
        return finding.said
    check = finding.check
    works = f"works without: {check.without}" if check.without else "nothing works without"
    return f"{finding.said}; to do: {check.install}; {works}"
