# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exceptions of the package, each with one line that names the thing, its value and what was expected."""


class MlcbError(Exception):
    """Anything that this package reports by raising."""


class ProgramError(MlcbError):
    """A program cannot be found, does not compile, or is no bitcode for the target."""


class TaskError(MlcbError):
    """A task cannot be bound with the given parameters, or an argument of an environment is wrong."""


class NoDecisions(MlcbError):
    """The program given to ``reset`` leaves the policy nothing to decide."""


class CompilerError(MlcbError):
    """The compiler at the other end crashed or gave up on what it was told to do."""


class SessionLost(MlcbError):
    """The machine failed, not the policy: the compiler was killed, its connection closed, or a deadline passed."""


class TrainingError(MlcbError):
    """A training run cannot begin or go on: its folder holds another run or none, its decisions are of something else, or the
    weights given are of another network."""


class ToolchainError(MlcbError):
    """A part of the tool chain (LLVM 22, the plugin, ONNX Runtime) is missing; the message says what to install."""


class PolicyError(MlcbError):
    """A policy folder is incomplete, corrupt, or made for another task."""
