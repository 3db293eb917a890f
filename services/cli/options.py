"""Commands whose options are their parameters and the fields of settings, and options that several commands share."""

from __future__ import annotations

import inspect
import os.path
import re
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import typer
from typer import Option

from egotools.client_errors import ClientError
from ontology.errors import EgotoolsError, error_from_status
from ontology.redaction import redacted_url
from services.cli.console import show_error
from services.jobs.plans import Rare

Store: TypeAlias = Annotated[Path, Option("--store", "-s", file_okay=False, help="The store.", envvar="EGOTOOLS_STORE")]
Json: TypeAlias = Annotated[bool, Option("--json", help="Print JSON for programs; errors too.")]
Server: TypeAlias = Annotated[str, Option("--server", "--address", help="A running server, HOST:PORT.")]
Needs: TypeAlias = Annotated[list[str] | None, Option("--need", help="A need: 'find an employee by name'. Repeatable.")]
Done: TypeAlias = Annotated[list[str] | None, Rare("--done", help="Id of a tool that was called already.")]
Have: TypeAlias = Annotated[list[str] | None, Option("--have", help="NAME=VALUE: a value that is known. Repeatable.")]
On: TypeAlias = Annotated[str, Rare("--on", help="local, or ray: the cluster of RAY_ADDRESS (docs/operate.md).")]
Yes: TypeAlias = Annotated[bool, Option("--yes", "-y", help="Do not ask before a call that may change something.")]
Journal: TypeAlias = Annotated[Path | None, Option("--journal", help="File of the run; a stopped one goes on from it.")]
Replay: TypeAlias = Annotated[bool, Option("--replay", help="Tell the journal's finished run again.")]
ReadyFile: TypeAlias = Annotated[Path | None, Rare("--ready-file", help="File that gets the address (JSON).")]


def group(words: str) -> typer.Typer:
    """Return a group of commands."""
    return typer.Typer(help=words, no_args_is_help=True, rich_markup_mode=None, add_completion=False)


def command_error(error: ClientError, address: str = "") -> EgotoolsError:
    """Return the error of a command, with its exit code, for one of the client's.

    :param address: of the server; it is the subject where the error has none, and is shown without a password.
    """
    shown = redacted_url(address) if address else ""
    message = error.message.replace(address, shown) if address else error.message
    return error_from_status(error.code, message, subject=error.subject or shown, remedy=error.remedy)


def command(
    app: typer.Typer, name: str | None = None, *, names: Mapping[str, str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command of a typer application.

    A parameter whose type is a dataclass is replaced by an option for each field. A field without an option of its own gets one
    from its name and the words of the docstring; ``--help-all`` shows it. An error of egotools or of its client ends the command
    with its exit code, and is shown as JSON where the parameter ``as_json`` is true.

    :param names: field → its option, where that has another name or is shown by ``--help``.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        hints.pop("return", None)

        def run(**values: Any) -> None:
            try:
                try:
                    function(**{name: _value(name, hint, values) for name, hint in hints.items()})
                except ClientError as error:
                    raise command_error(error, values.get("server") or "") from error
            except EgotoolsError as error:
                show_error(error, as_json=values.get("as_json", False))
                raise typer.Exit(error.exit_code) from error

        found = [_HELP_ALL]
        for parameter in inspect.signature(function).parameters.values():
            found[-1:-1] = _parameters(parameter.name, hints[parameter.name], parameter.default, None, names or {})
        run.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]
        run.__annotations__ = {}
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        app.command(name)(run)
        return function

    return register


def _help_all(context: typer.Context, wanted: bool) -> None:
    if not wanted:
        return
    hidden = [each for each in context.command.params if getattr(each, "hidden", False)]
    for each in hidden:
        each.hidden = False  # type: ignore[attr-defined]
    typer.echo(context.get_help())
    for each in hidden:
        each.hidden = True  # type: ignore[attr-defined]
    raise typer.Exit


_HELP_ALL = inspect.Parameter(
    "_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, Option("--help-all", help="Show every option.", is_eager=True, callback=_help_all)],
)


def _parameters(
    name: str, hint: Any, default: Any, told: Mapping[str, str] | None, names: Mapping[str, str]
) -> Iterator[inspect.Parameter]:
    """The parameters of one field: itself, or those of its own fields where it is a dataclass.

    :param told: field → its words in the docstring of its class; None of a parameter.
    """
    if is_dataclass(hint):
        hints, words = get_type_hints(hint, include_extras=True), _told(hint)
        for field in fields(hint):
            own = inspect.Parameter.empty if field.default is MISSING else field.default
            if not is_dataclass(hints[field.name]) or field.default is MISSING:  # limits within settings are no options
                yield from _parameters(field.name, hints[field.name], own, words, names)
        return
    if get_origin(hint) is not Annotated and told is not None:
        option = names.get(name, f"--{name.replace('_', '-')}")
        kind = str if get_origin(hint) is Literal else hint
        hint = Annotated[kind, Option(option, help=told.get(name, ""), hidden=name not in names)]
    if _is_tuple(hint):  # typer knows options with several values as lists
        item = get_args(get_args(hint)[0])[0]
        hint = Annotated[list[item], *hint.__metadata__]  # type: ignore[valid-type]
        default = default if default is inspect.Parameter.empty else list(default)
    if get_origin(hint) is Annotated and "Path" in str(get_args(hint)[0]):
        inner, *notes = (copy(each) for each in get_args(hint))
        for each in notes:
            each.parser = path if each.file_okay else folder
        hint = Annotated[(inner, *notes)]
    yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def path(text: str | Path) -> Path:
    """Return a path; the name of this function is shown in the help.

    :raises typer.BadParameter: for an empty text, which would be the current folder.
    """
    if not str(text).strip():
        raise typer.BadParameter("it is empty: a variable of the shell may not be set. Write . for the current folder")
    return Path(text)


def folder(text: str | Path) -> Path:
    """Return the path of a folder, which need not be there yet.

    :raises typer.BadParameter: for an empty text, and where it or a folder above it is a file.
    """
    found = path(text)
    # These functions raise nothing where a folder may not be read.
    there = next((each for each in (found, *found.parents) if os.path.exists(each)), None)
    if there is not None and not os.path.isdir(there):
        raise typer.BadParameter(f"{there} is a file. Name a folder")
    return found


def _told(kind: Any) -> dict[str, str]:
    """Field → its words in the docstring."""
    found = re.findall(r":param (\w+): (.*?)(?=\n\s*:|\Z)", inspect.getdoc(kind) or "", re.DOTALL)
    words = {name: " ".join(text.split()).replace("``", "") for name, text in found}
    return {name: text[:1].upper() + text[1:] for name, text in words.items()}


def _value(name: str, hint: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        given = {
            each.name: _value(each.name, hints[each.name], values)
            for each in fields(hint)
            if each.name in values or (is_dataclass(hints[each.name]) and each.default is MISSING)
        }
        return hint(**given)
    return tuple(values[name]) if _is_tuple(hint) else values[name]


def _is_tuple(hint: Any) -> bool:
    return get_origin(hint) is Annotated and get_origin(get_args(hint)[0]) is tuple
