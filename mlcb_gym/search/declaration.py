# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The declaration of a folder of decisions: the task, the metric and the search that its outcomes are of."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from mlcb_gym import atomic
from mlcb_gym.damaged import reading
from mlcb_gym.envs.compiler_env import CompilerEnv
from mlcb_gym.errors import TrainingError
from mlcb_gym.spec import bind

FILE = "search.json"
"""The file of a folder of decisions with its declaration."""


@dataclass(frozen=True)
class Declaration:
    """The task, the metric and the search that outcomes are of.

    Args:
        task: its name.
        parameters: what it is bound with.
        digest: the digest of the bound task.
        objective: the metric of the outcomes and its baseline; None where nothing is measured.
        target: the triple and the CPU that code was generated for; empty as each module has them.
        search: the name of the search and its options.
    """

    task: str
    parameters: Mapping[str, Any]
    digest: str
    objective: Sequence[str] | None
    target: Mapping[str, str]
    search: Mapping[str, Any]

    @classmethod
    def of(cls, env: CompilerEnv, **search: Any) -> "Declaration":
        """Return the declaration of what a search finds in an environment."""
        spec = env.task_spec
        return cls(spec.task, spec.parameters, spec.digest, env.objective and list(env.objective), asdict(env.target), search)

    @property
    def key(self) -> str:
        """A digest of all that it declares."""
        return sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    @classmethod
    def read(cls, folder: Path) -> "Declaration":
        """Return the declaration of a folder with decisions.

        Raises:
            TrainingError: the folder has none, or a damaged one.
        """
        file = folder / FILE
        if not file.exists():
            raise TrainingError(f"{folder}: decisions without {FILE}, which says what they are of, expected those of a new `mlcb search`")
        with reading(file, TrainingError, "declaration of decisions", by="`mlcb search`"):
            return cls(**json.loads(file.read_text()))

    def write(self, folder: Path) -> None:
        """Declare what the decisions in a folder are of."""
        atomic.write(folder / FILE, json.dumps(asdict(self), indent=1) + "\n")

    def expect(self, folder: Path) -> None:
        """Check that the decisions in a folder are of the same search.

        Raises:
            TrainingError: they are of something else.
        """
        self._compare(folder, Declaration.read(folder))

    def expect_outcomes(self, folder: Path) -> None:
        """Check that the decisions in a folder have this task's outcomes, by whatever search. They may hold embeddings that the task leaves out.

        Raises:
            TrainingError: they are of something else.
        """
        held = replace(Declaration.read(folder), search=self.search)
        if held.task == self.task and self.parameters.get("dimension") == 0 != held.parameters.get("dimension"):
            shown = bind(held.task, {**held.parameters, "dimension": 0, "vocabulary": ""})
            held = replace(held, parameters=shown.parameters, digest=shown.digest)
        self._compare(folder, held)

    def _compare(self, folder: Path, held: "Declaration") -> None:
        found = held._facts()
        for name, expected in self._facts().items():
            if found.get(name) != expected:
                raise TrainingError(f"{folder}: decisions of {name}={shortened(found.get(name))}, expected {name}={shortened(expected)}")

    def _facts(self) -> dict[str, Any]:
        """Return every value by its name, those first that explain most."""
        return {"task": self.task, **self.parameters, "objective": self.objective, **self.target, **self.search, "digest": self.digest}
