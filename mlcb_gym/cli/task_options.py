# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that a command takes from its task: the arguments of the environment, and those of the function that does the work."""

import json
import typing
from ast import literal_eval
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from inspect import Parameter, signature
from pathlib import Path
from types import UnionType
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperCommand

from mlcb_gym.cli.shared_options import named_task
from mlcb_gym.errors import TaskError
from mlcb_gym.training.hyperparameters import arguments_in, json_or_text, nested

ANY_OPTION = {"allow_extra_args": True, "ignore_unknown_options": True}
"""The context settings of a command that reads such options."""

NO_OPTION = {"programs", "render_mode", "parameters"}
"""Parameters that a command declares itself, or that the class of a task gives to its base classes."""


def env_parameters(task: str) -> dict[str, Parameter]:
    """Return the arguments of a task's environment that can be given as text, by name.

    They are the keyword-only parameters of its class and of its base classes, and the keys of a ``TypedDict`` that ``**kwargs`` is annotated with.
    """
    from mlcb_gym.envs import env_class

    found: dict[str, Parameter] = {}
    for base in env_class(task).__mro__:
        if "__init__" in vars(base):
            found = dict(_declared(vars(base)["__init__"])) | found
            if not _passes_on(vars(base)["__init__"]):
                break
    return {name: parameter for name, parameter in sorted(found.items()) if name not in NO_OPTION and not _is_object(parameter.annotation)}


def keyword_parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the keyword-only parameters of a function that can be given as text."""
    return {name: parameter for name, parameter in _declared(function) if name != ENVIRONMENT and not _is_object(parameter.annotation)}


ENVIRONMENT = "environment"
"""The parameter of a function that takes arguments of an environment."""


def task_options(task: str, given: Sequence[str], assignments: Sequence[str] | None, *functions: Callable[..., Any]) -> tuple[dict[str, Any], ...]:
    """Return the values of options that a command does not declare itself: those of the environment, then those of each function.

    Args:
        given: what the command line has beside the declared options, as ``["--max-steps", "3"]``.
        assignments: arguments of the environment alone, as ``["max_steps=3"]``.
        functions: the functions that the command calls; of several with the same option, the first one gets it.

    Raises:
        TaskError: neither the environment nor a function has such an option.
    """
    known = [env_parameters(task), *map(keyword_parameters, functions)]
    values: list[dict[str, Any]] = [{} for _ in known]
    for name, texts in _pairs(task, given, known):
        place = next((i for i in (*range(1, len(known)), 0) if name in known[i]), None)
        if place is None:
            raise TaskError(f"{task} has no option --{_dashed(name)}, expected one of {_list(known)}")
        values[place][name] = _converted(name, known[place][name], texts)
    for name, text in assignments_of(assignments or []).items():
        if name not in known[0]:
            raise TaskError(f"--env {name}: {task} has no such argument, expected one of {', '.join(known[0])}")
        values[0][name] = _converted(name, known[0][name], [text])
    return tuple(values)


def assigned(assignments: Sequence[str]) -> dict[str, Any]:
    """Return ``["lr=1e-4", "network.hidden=[64]"]`` as nested mappings; values are JSON, or else text."""
    return nested({name: json_or_text(text) for name, text in assignments_of(assignments).items()})


def assignments_of(assignments: Sequence[str]) -> dict[str, str]:
    """Return ``["lr=1e-4"]`` as ``{"lr": "1e-4"}``."""
    pairs: dict[str, str] = {}
    for assignment in assignments:
        name, separator, text = assignment.partition("=")
        if not separator:
            raise typer.BadParameter(f"{assignment!r}: expected NAME=VALUE")
        pairs[name] = text
    return pairs


class TaskCommand(TyperCommand):
    """A command with a TASK, whose ``--help`` lists the options that follow from the task too."""

    def functions(self, task: str) -> Sequence[Callable[..., Any]]:
        """Return the functions that do the work for a task, whose keyword arguments are options."""
        return ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts TASK before options that only the task knows, which may have values."""
        place = self._place(args)
        if place is not None:
            ctx.meta["task"] = named_task(args[place])
            args = [args[place], *args[:place], *args[place + 1 :]]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Prints the help, and behind it the options of the functions and the arguments of the environment."""
        super().format_help(ctx, formatter)
        if task := ctx.meta.get("task"):
            declared = {param.name for param in self.params}
            tables = (function_table(task, function, declared) for function in self.functions(task))
            Console().print(*tables, environment_table(task))

    def _place(self, args: Sequence[str]) -> int | None:
        """Return the place of the task: the first name of one that is not the value of a declared option."""
        with_value = {name for param in self.params if not getattr(param, "is_flag", False) for name in param.opts}
        names = (i for i, arg in enumerate(args) if named_task(arg) and (i == 0 or args[i - 1] not in with_value))
        return next(names, None)


def environment_table(task: str) -> Table:
    """Return the arguments of a task's environment, with their defaults and the meaning that its docstring gives them."""
    from mlcb_gym.envs import env_class

    env = env_class(task)
    documented = {name: (default, meaning) for name, default, meaning in _documented(env.__doc__ or "")}
    table = Table("option", "default", "meaning", title=f"{task}: arguments of its environment", title_justify="left")
    table.caption, table.caption_justify = f"rewards, and all else: python -m pydoc {env.__module__}.{env.__qualname__}", "left"
    for name, parameter in env_parameters(task).items():
        default, meaning = documented.get(name, (Parameter.empty, ""))
        table.add_row(f"--{_dashed(name)}", _shown(default if parameter.default is Parameter.empty else parameter.default), meaning)
    return table


def function_table(task: str, function: Callable[..., Any], declared: Container[str | None] = ()) -> Table:
    """Return the keyword arguments of a function, but those that the command declares, with their defaults and what its docstring says."""
    meanings = arguments_in(function.__doc__ or "")
    table = Table("option", "default", "meaning", title=f"{task}: options of this command", title_justify="left")
    for name, parameter in keyword_parameters(function).items():
        if name not in declared:
            table.add_row(f"--{_dashed(name)}", _shown(parameter.default), meanings.get(name, ""))
    return table


def _shown(default: Any) -> str:
    """Return the default of a parameter as text; nothing where there is none."""
    return "" if default in (Parameter.empty, None) else json.dumps(default, default=str)


def _documented(docstring: str) -> Iterable[tuple[str, Any, str]]:
    """Yield the names, defaults and meanings of the table of arguments in a docstring."""
    for line in docstring.partition("## Arguments")[2].partition("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 3:
            default, meaning = (cell.replace("``", "") for cell in cells[1:])
            yield from ((name.strip().strip("`"), _literal(default), meaning) for name in cells[0].split(","))


def _declared(function: Callable[..., Any]) -> Iterable[tuple[str, Parameter]]:
    """Yield the keyword-only parameters of a function, and those that ``**kwargs: Unpack[...]`` stands for."""
    for name, parameter in signature(function).parameters.items():
        if parameter.kind is Parameter.KEYWORD_ONLY:
            yield name, parameter
        elif parameter.kind is Parameter.VAR_KEYWORD and typing.get_origin(parameter.annotation) is typing.Unpack:
            (options,) = typing.get_args(parameter.annotation)
            for key, annotation in typing.get_type_hints(options).items():
                yield key, Parameter(key, Parameter.KEYWORD_ONLY, annotation=annotation)


def _passes_on(function: Callable[..., Any]) -> bool:
    """Whether a function takes arguments that it does not declare."""
    rest = [parameter for parameter in signature(function).parameters.values() if parameter.kind is Parameter.VAR_KEYWORD]
    return any(typing.get_origin(parameter.annotation) is not typing.Unpack for parameter in rest)


def _is_object(annotation: Any) -> bool:
    """Whether values of a type cannot be given as text: dataclasses and functions."""
    kinds = _kinds(annotation)
    return str not in kinds and any(is_dataclass(kind) or typing.get_origin(kind) is Callable for kind in kinds)


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the one type."""
    return typing.get_args(annotation) if typing.get_origin(annotation) in (typing.Union, UnionType) else (annotation,)


def _pairs(task: str, given: Sequence[str], known: Sequence[Mapping[str, Parameter]]) -> Iterable[tuple[str, list[str]]]:
    """Yield each option with all its values, in the order of the command line; a flag has none."""
    found: dict[str, list[str]] = {}
    rest = list(given)
    while rest:
        option, separator, value = rest.pop(0).partition("=")
        if not option.startswith("--"):
            raise TaskError(f"{task}: unexpected argument {option!r}, expected one of {_list(known)}")
        texts = found.setdefault(option[2:].replace("-", "_"), [])
        if separator:
            texts.append(value)
        elif rest and not rest[0].startswith("--"):
            texts.append(rest.pop(0))
    return found.items()


def _converted(name: str, parameter: Parameter, texts: Sequence[str]) -> Any:
    """Return the value of an option, of its parameter's type: text, or else JSON where text is not meant."""
    kinds = [kind for kind in _kinds(parameter.annotation) if kind is not type(None)]
    if typing.get_origin(parameter.annotation) is Sequence:
        (kind,) = typing.get_args(parameter.annotation)
        return [_checked(name, value, [kind]) for text in texts for value in _listed(text, kind)]
    if not texts:
        return _checked(name, True, kinds)
    if kinds in ([str], [Path]):
        return kinds[0](texts[-1])
    return _checked(name, json_or_text(texts[-1]), kinds)


def _listed(text: str, kind: Any) -> Sequence[Any]:
    """Return the values of one use of an option that takes several: a JSON list has them all."""
    value = json_or_text(text)
    return value if isinstance(value, list) else [text if kind is str else value]


def _checked(name: str, value: Any, kinds: Sequence[Any]) -> Any:
    """Return a value, if it is of one of the types; any is, unless these are all text, numbers or truth values."""
    if set(kinds) <= {bool, int, float, str} and type(value) not in kinds and not (type(value) is int and float in kinds):
        raise TaskError(f"--{_dashed(name)} {value}: expected {' or '.join(kind.__name__ for kind in kinds)}")
    return value


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _list(known: Sequence[Mapping[str, Parameter]]) -> str:
    return ", ".join(sorted({f"--{_dashed(name)}" for parameters in known for name in parameters}))


def _literal(text: str) -> Any:
    """Return the value that a text of Python stands for; of words, themselves."""
    try:
        return literal_eval(text)
    except (SyntaxError, ValueError):
        return text
