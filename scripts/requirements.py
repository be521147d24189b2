# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what pyproject.toml requires, with every extra, for `pip install`."""

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
extras = [requirement for group in project["optional-dependencies"].values() for requirement in group]
print(*[requirement.replace(" ", "") for requirement in project["dependencies"] + extras])
