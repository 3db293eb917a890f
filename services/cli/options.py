"""Commands whose options are the fields of a dataclass, and options that several commands share."""

from __future__ import annotations

import inspect
import os.path
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args, get_origin, get_type_hints

import typer

from ontology.errors import EgotoolsError
from services.cli.console import show_error

__all__ = ["Json", "Needs", "On", "Store", "command"]

Store: TypeAlias = Annotated[
    Path,
    typer.Option("--store", "-s", file_okay=False, help="Store with the published snapshot.", envvar="EGOTOOLS_STORE"),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON for programs instead of tables; errors too, on the error channel.")
]

Needs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--need",
        help="What is needed, one capability in words of documentation: 'find an employee by name'. Repeat for several; the request may then "
        "be left out.",
    ),
]
On: TypeAlias = Annotated[
    str,
    typer.Option(
        "--on",
        help="local (this machine), or ray: the cluster of RAY_ADDRESS, else that of this machine (docs/cluster.md).",
    ),
]


def command(app: typer.Typer, name: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command of a typer application.

    A parameter with a dataclass type is replaced by an option for each field. An error of egotools ends the command
    with its exit code; it is shown as JSON where the parameter ``as_json`` is true.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        hints.pop("return", None)

        def run(**values: Any) -> None:
            try:
                function(**{name: _value(name, hint, values) for name, hint in hints.items()})
            except EgotoolsError as error:
                show_error(error, as_json=values.get("as_json", False))
                raise typer.Exit(error.exit_code) from error

        defaults = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
        parameters = [found for name, hint in hints.items() for found in _parameters(name, hint, defaults[name])]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {}
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        app.command(name)(run)
        return function

    return register


def _parameters(name: str, hint: Any, default: Any) -> Iterator[inspect.Parameter]:
    """The parameters of one field: itself, or those of its own fields where it is a dataclass."""
    if is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        for field in fields(hint):
            own = inspect.Parameter.empty if field.default is MISSING else field.default
            yield from _parameters(field.name, hints[field.name], own)
        return
    if _is_tuple(hint):  # typer knows options with several values as lists
        item = get_args(get_args(hint)[0])[0]
        hint = Annotated[list[item], *hint.__metadata__]  # type: ignore[valid-type]
        default = default if default is inspect.Parameter.empty else list(default)
    if _is_path(hint):
        hint = _of_named_files(hint)
    yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _is_path(hint: Any) -> bool:
    """Whether a hint is that of a path, of none or one, or of several."""
    return hint is Path or any(map(_is_path, get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint)))


def _of_named_files(hint: Any) -> Any:
    """The hint of a path, with a parser that refuses an empty one, and a file where the option is ``file_okay=False``."""
    inner, *notes = get_args(hint)
    parsed = []
    for note in notes:
        own = copy(note)
        if hasattr(own, "parser"):
            own.parser = path if note.file_okay else folder_path
        parsed.append(own)
    return Annotated[(inner, *parsed)]


def path(text: str | Path) -> Path:
    """Return a path; its name is shown in the help.

    :raises typer.BadParameter: for an empty text, which would be the current folder.
    """
    if not str(text).strip():
        raise typer.BadParameter("it is empty: a variable of the shell may not be set. Write . for the current folder")
    return Path(text)


def folder_path(text: str | Path) -> Path:
    """Return the path of a folder, which need not be there yet.

    :raises typer.BadParameter: for an empty text, and where it or a folder above it is a file.
    """
    folder = path(text)
    # These functions raise nothing where a folder may not be read.
    there = next((each for each in (folder, *folder.parents) if os.path.exists(each)), None)
    if there is not None and not os.path.isdir(there):
        raise typer.BadParameter(f"{there} is a file. Name a folder")
    return folder


def _value(name: str, hint: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return hint(**{field.name: _value(field.name, hints[field.name], values) for field in fields(hint)})
    return tuple(values[name]) if _is_tuple(hint) else values[name]


def _is_tuple(hint: Any) -> bool:
    return get_origin(hint) is Annotated and get_origin(get_args(hint)[0]) is tuple
