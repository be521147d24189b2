# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``mlcb export``, ``mlcb aot`` and ``mlcb clang-config``: policies on their way into compilers."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from mlcb_gym.cli.experimental import mention_experimental
from mlcb_gym.cli.shared_options import POLICY, Cpu
from mlcb_gym.envs import env_class
from mlcb_gym.errors import MlcbError, PolicyError, ToolchainError


def export(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint, as RUN/best.")],
    folder: Annotated[Path, typer.Argument(help="The policy folder to write.")],
    programs: Annotated[
        str | None, typer.Option(help="The programs that decisions are compared on; by default a validation split that the task's record names.")
    ] = None,
    aot: Annotated[bool, typer.Option(help="Compile the policy too, to policy.so in FOLDER.")] = False,
    cpu: Cpu = None,
    trust: Annotated[bool, typer.Option("--trust", help="Read the pickles, which are code, of a checkpoint that has nothing else.")] = False,
) -> None:
    """Write a policy folder from a checkpoint, once every runtime was seen to decide alike."""
    from mlcb_gym.atomic import replacing
    from mlcb_gym.corpus.programs import resolve
    from mlcb_gym.export.aot import COMPILED, compile_policy
    from mlcb_gym.export.export import export_policy
    from mlcb_gym.export.parity import check_parity
    from mlcb_gym.onnx.manifest import read_manifest, replaceable
    from mlcb_gym.training.imitation.optimize import limit_threads

    limit_threads()
    if programs:
        resolve(programs)  # what is wrong with them is known before anything is written
    with replacing(replaceable(folder)) as unfinished:
        try:
            record = env_class(read_manifest(export_policy(checkpoint, unfinished, trust=trust))["task"]).record
            compiled = compile_policy(unfinished, unfinished / COMPILED, cpu=cpu) if aot else None
            parity = check_parity(checkpoint, unfinished, programs or f"{record.parity}/validation", compiled=compiled, trust=trust)
        except MlcbError as error:
            raise type(error)(str(error).replace(str(unfinished), str(folder))) from error
    print(f"{folder}: torch and ONNX Runtime decide alike on {parity}")
    print(f"next: mlcb clang-config {shlex.quote(str(folder))}")


def aot(
    policy: Annotated[Path, typer.Argument(help="A policy folder, as `mlcb export` writes it, or the task of a policy that ships.", **POLICY)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write; by default policy.so in the folder, of a policy that ships TASK.so here."),
    ] = None,
    cpu: Cpu = None,
) -> None:
    """Compile a policy ahead of time: one file, `aot:policy.so`, that needs no ONNX Runtime."""
    from mlcb_gym.export.aot import COMPILED, compile_policy
    from mlcb_gym.policies import shipped

    usual = Path(f"{policy.name}.so") if policy in shipped().values() else policy / COMPILED
    print(f"aot:{compile_policy(policy, output or usual, cpu=cpu).resolve()}")


def clang_config(
    policies: Annotated[
        list[Path], typer.Argument(help="Policy folders, compiled policies, or tasks of policies that ship; each for another task.", **POLICY)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write; {digest} in its name is filled in.")] = Path("mlcb.cfg"),
    guard: Annotated[bool, typer.Option(help="Keep LLVM's own module where that is smaller, and its own registers where they cost less.")] = False,
    candidates: Annotated[
        int, typer.Option(min=0, help="The guard; it tries N sequences of posetrl, or N actions of function_size or function_posetrl, by function.")
    ] = 0,
    budget: Annotated[
        float | None, typer.Option(help="Instead of --candidates: as many as take so many builds, stock's among them; 4 is 3 of one policy.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Trials of the guard at once; under make no more than it has slots for.")] = 1,
    lto: Annotated[bool, typer.Option(help="Link by lld; with -flto, full or thin, policies decide in the link.")] = False,
    bundle: Annotated[bool, typer.Option(help="Copy plugin and policies beside the file, which then works wherever the folder lies.")] = False,
    trust: Annotated[bool, typer.Option("--trust", help="Let policies' own operators, which are code, run in the compiler.")] = False,
    aot: Annotated[
        bool | None,
        typer.Option(
            help="Compile policy folders ahead of time (kept in the user's cache), or let ONNX Runtime decide. By default the latter where they "
            "cannot be compiled here."
        ),
    ] = None,
) -> None:
    """Write a configuration file that makes clang use these policies: `clang-22 --config=$PWD/mlcb.cfg -Oz ...`.

    A policy that orders passes takes the place of clang's optimizations at every level but -O0. Asked at another level than it was trained for, it is
    warned about.
    """
    from mlcb_gym import toolchain
    from mlcb_gym.export.clang_config import write_clang_config
    from mlcb_gym.export.deployed import runner_uri

    clang = toolchain.tool("clang")  # before anything is written

    def uri(policy: Path) -> str:
        return runner_uri(_compiled(policy, needed=aot is True) if aot is not False and policy.is_dir() else policy)

    written = write_clang_config(
        output, policies, guard=guard, candidates=candidates, budget=budget, jobs=jobs, lto=lto, bundle=bundle, trust=trust, uri=uri
    )
    print(f"{clang} --config={written.resolve()}")
    mention_experimental(policies)
    if lto:
        print("the policies were taught on modules, before any link: look at what they gain in yours", file=sys.stderr)


def _compiled(policy: Path, *, needed: bool) -> Path:
    """Return a policy folder compiled ahead of time; itself where that cannot be done here and is not needed."""
    from mlcb_gym.export.aot import compiled

    try:
        return compiled(policy)
    except (PolicyError, ToolchainError) as error:
        if needed:
            raise
        print(f"not compiled ahead of time, ONNX Runtime decides: {error}", file=sys.stderr)
        return policy
