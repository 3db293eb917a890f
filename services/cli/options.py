"""Commands whose options are parameters and fields of settings; options of several commands; who is asked before a call."""

from __future__ import annotations

import inspect
import json
import os
import os.path
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import typer
from typer import Option
from typer.core import TyperGroup

from egotools import Tool
from egotools.call import Call
from egotools.calling.address_guard import parse_networks
from egotools.client_errors import ClientError, ToolRequestError
from ontology.errors import EgotoolsError, InvalidArgumentError, NotFoundError, error_from_status
from ontology.files import read_bounded
from ontology.redaction import redacted_url
from services.cli.console import plain, show_error, stderr, tell
from services.jobs.plans import Rare

if TYPE_CHECKING:
    from planners.calls.tool_access import Ask, ToolAccess
    from retrieval.snapshot.reader import Snapshot

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


def group(words: str, kind: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """Return a group of commands."""
    return typer.Typer(cls=kind, help=words, no_args_is_help=True, rich_markup_mode=None, add_completion=False)


def command_error(error: ClientError, address: str = "") -> EgotoolsError:
    """Return the error of a command, with its exit code, for one of the client's: a server's address is its subject, without a password."""
    shown = redacted_url(address) if address else ""
    message = error.message.replace(address, shown) if address else error.message
    return error_from_status(error.code, message, subject=error.subject or shown, remedy=error.remedy)


def command(
    app: typer.Typer, name: str | None = None, *, names: Mapping[str, str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command of a typer application. A parameter whose type is a dataclass is replaced by an
    option for each field. A field without an option of its own gets one from its name and the words of the docstring;
    ``--help-all`` shows it. ``names`` has the options that have another name or are shown by ``--help``. An error of
    egotools or of its client ends the command with its exit code, and is shown as JSON where the parameter ``as_json``
    is true."""

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


_LONGEST_ID = 300  # characters that are compared with the ids of a catalogue
_HELP_ALL = inspect.Parameter(
    "_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, Option("--help-all", help="Show every option.", is_eager=True, callback=_help_all)],
)


def _parameters(
    name: str, hint: Any, default: Any, told: Mapping[str, str] | None, names: Mapping[str, str]
) -> Iterator[inspect.Parameter]:
    """The parameters of one field, of which ``told`` has the words of its class: itself, or those of its own fields where it is a dataclass."""
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
    """Return a path; the name of this function is shown in the help. An empty text is refused: it would be the current folder."""
    if not str(text).strip():
        raise typer.BadParameter("it is empty: a variable of the shell may not be set. Write . for the current folder")
    return Path(text)


def folder(text: str | Path) -> Path:
    """Return the path of a folder, which need not be there yet; refused is an empty text, and where it or a folder above it is a file."""
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


_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey)?\s*", re.IGNORECASE)
_REMEDY = "Write KEY=${VAR} for a variable of the environment (in single quotes), or KEY=@FILE for a file"
_NO_CREDENTIALS = {
    "mcp": "Give --header or --env to the server of the session",
    "aws": "Leave it out: botocore signs with the credentials of its own configuration",
    "python": "Leave it out",
}


def ask_at_terminal() -> Ask:
    """Return who is asked before a call: whoever sits at the terminal; without one the call is never made."""
    from planners.calls.tool_access import never

    async def ask(tool: Tool, arguments: Mapping[str, Any]) -> bool:
        given = json.dumps(arguments, ensure_ascii=False, default=str)
        return confirmed(f"{tool.id} may change something. Arguments: {given}", "Call it?")

    return ask if sys.stdin.isatty() else never


def confirmed(text: str, question: str) -> bool:
    """Print a text on the error channel, and ask; whether the answer is yes."""
    if text:
        tell(plain(text))
    stderr.print(f"{question} [y/N] ", end="", markup=False)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def check_known(snapshot: Snapshot, tool_ids: Iterable[str]) -> None:
    """Check that a snapshot has these tools; the NotFoundError names the first that it does not have, with those of
    nearly the same id."""
    for tool_id in tool_ids:
        if snapshot.find_node(f"tool:{tool_id}") is None:
            near = " or ".join(near_names(tool_id, map(snapshot.tool_id, range(snapshot.tool_count))))
            remedy = f"Perhaps it is {near}" if near else "Try `egotools search` with what the tool does"
            raise NotFoundError("the catalogue has no such tool", subject=tool_id, remedy=remedy)


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three of the known names that are nearly this one, in any case of letters, the nearest first."""
    folded = {each.casefold(): each for each in sorted(known)}
    return [folded[each] for each in get_close_matches(name.casefold()[:_LONGEST_ID], folded)]


def read_references(texts: Sequence[str], option: str, *, in_text: bool = False) -> dict[str, str]:
    """Return the map from name to value, from ``NAME=${VAR}`` and ``NAME=@FILE``; with ``in_text`` the word of a scheme
    may stand beside references, as in ``Authorization=Bearer ${TOKEN}``. Raises InvalidArgumentError for a value that
    is written out (which is not repeated), and for one that is not there."""
    found = {}
    for text in texts:
        name, separator, reference = text.partition("=")
        if not separator or not name:
            raise InvalidArgumentError("this is not NAME=REFERENCE", subject=option, remedy=_REMEDY)
        subject = f"{option} {name}"
        rest = _REFERENCE.sub("", reference)
        if _REFERENCE.fullmatch(reference) or (in_text and rest != reference and _SCHEME.fullmatch(rest)):
            for variable in dict.fromkeys(_REFERENCE.findall(reference)):
                if not os.environ.get(variable):
                    problem = f"the environment has no variable {variable}"
                    remedy = (
                        "Export it before the command; where an MCP client starts the command, write it into the "
                        f'client\'s configuration: "env": {{"{variable}": "…"}}'
                    )
                    raise InvalidArgumentError(problem, subject=subject, remedy=remedy)
            found[name] = _REFERENCE.sub(lambda match: os.environ[match[1]], reference)
        elif not reference.startswith("@"):
            seen = "other users and the history of the shell would see it"
            problem = f"a credential is not taken from the command line itself: {seen}"
            raise InvalidArgumentError(problem, subject=subject, remedy=_REMEDY)
        else:
            try:
                found[name] = read_bounded(Path(reference[1:]), 2**20).decode("utf-8").strip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                problem, remedy = "the file of the credential cannot be read", "Name a text file that is there"
                raise InvalidArgumentError(problem, subject=subject, remedy=remedy) from error
            if not found[name]:
                raise InvalidArgumentError("the file of the credential is empty", subject=subject, remedy=_REMEDY)
        if in_text and not found[name].isprintable():
            raise InvalidArgumentError("the value is not one line", subject=subject, remedy="Correct what it refers to")
    return found


def refuse_unused(call: Call, namespace: str, keys: Iterable[str]) -> None:
    """Refuse a credential, by the key of its scheme, that a call has no place for, listing those it has; a key may
    begin with the namespace of the tool."""
    known = {scheme.key.partition("@")[0] for alternative in call.security for scheme in alternative.schemes}
    unused = sorted({key.partition("@")[0].removeprefix(f"{namespace}.") for key in keys} - known)
    if not unused:
        return
    if known:
        problem, remedy = f"the call has no scheme {unused[0]!r}", f"Its schemes: {', '.join(sorted(known))}"
    elif call.protocol in _NO_CREDENTIALS:
        problem = f"a call by the protocol {call.protocol!r} takes no {unused[0]!r}"
        remedy = _NO_CREDENTIALS[call.protocol]
    else:
        problem = f"the tool's document declares no security, so it has no scheme {unused[0]!r}"
        remedy = "Leave it out; if the API wants it, declare its scheme in the document (security) and build again"
    raise InvalidArgumentError(problem, subject="--credential", remedy=remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """What may be called, where, and with which credentials."""

    base_urls: Annotated[
        tuple[str, ...], Option("--base-url", help="[NAMESPACE=]URL: the API of tools over HTTP.")
    ] = ()
    sessions: Annotated[tuple[str, ...], Rare("--session", help="[NAME=]mcp:COMMAND … or mcp+https://….")] = ()
    credentials: Annotated[tuple[str, ...], Rare("--credential", help="[NAMESPACE.]KEY[@HOST]=${VAR} or =@FILE.")] = ()
    policy: Annotated[Path | None, Rare(help="File of rules: which calls are made, asked about, or refused.")] = None
    headers: Annotated[
        tuple[str, ...], Rare("--header", help="[SESSION.]NAME=${VAR} or =@FILE, of an MCP server.")
    ] = ()
    env: Annotated[tuple[str, ...], Rare(help="[SESSION.]NAME=${VAR} or =@FILE, for an MCP server on stdio.")] = ()
    allow_networks: Annotated[tuple[str, ...], Rare("--allow-network", help="10.0.0.0/8: where servers may be.")] = ()
    modules: Annotated[tuple[str, ...], Rare("--python", help="A module of Python whose functions may be called.")] = ()
    timeout_s: Annotated[float, Rare(min=0.1, help="Seconds for a call of a tool.")] = 30.0

    def access(self, own_modules: Sequence[str] = (), *, yes: bool = False) -> ToolAccess:
        """Return what they allow. Modules are found in the present folder too, as ``python -m`` finds them; functions
        of ``own_modules`` may be called without being named. ``yes`` says that calls that no rule of the policy names
        are confirmed already. A text in another form, and a policy with faults, raise InvalidArgumentError."""
        from egotools.calling.mcp_invoker import McpAddress
        from planners.calls.tool_access import CallPolicy, ToolAccess, read_policy

        try:
            networks = parse_networks(self.allow_networks)
        except ToolRequestError as error:
            remedy = error.remedy.rstrip(".")
            raise InvalidArgumentError(error.message, subject="--allow-network", remedy=remedy) from None
        if self.modules and os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        servers = _named(self.base_urls, "--base-url", ("http://", "https://"))
        places = _named(self.sessions, "--session", ("mcp:", "mcp+http://", "mcp+https://"))
        headers, env = _of_sessions(self.headers, places, "--header"), _of_sessions(self.env, places, "--env")
        return ToolAccess(
            modules=(*self.modules, *own_modules),
            servers=servers,
            sessions={
                name: McpAddress(session=address, headers=headers[name], env=env[name])
                for name, address in places.items()
            },
            credentials=read_references(self.credentials, "--credential"),
            policy=CallPolicy(confirmed=yes) if self.policy is None else read_policy(self.policy, confirmed=yes),
            allowed_networks=networks,
            timeout_s=self.timeout_s,
        )


NO_CALL_OPTIONS = CallOptions()  # none of them given


def _named(texts: Sequence[str], option: str, starts: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, separator, address = ("", "=", text) if text.startswith(starts) else text.partition("=")
        if not separator or not address.startswith(starts):
            forms = " or ".join(f"{start}…" for start in starts)
            problem, remedy = f"{text!r} is no address", f"Write {forms}, or NAME=ADDRESS"
            raise InvalidArgumentError(problem, subject=option, remedy=remedy)
        if name in found:
            raise InvalidArgumentError("there are two addresses of one name", subject=option, remedy="Give one of them")
        found[name] = address
    return found


def _of_sessions(texts: Sequence[str], sessions: Mapping[str, str], option: str) -> dict[str, dict[str, str]]:
    """Name → value of each session. A value without the name of a session is for the only one: it goes to no other server."""
    found: dict[str, dict[str, str]] = {session: {} for session in sessions}
    for name, value in read_references(texts, option, in_text=True).items():
        session, _, own = name.rpartition(".")
        if not session and session not in sessions and len(sessions) == 1:
            session = next(iter(sessions))
        if session not in sessions:
            known = ", ".join(filter(None, sorted(sessions))) or "none"
            remedy = f"Write SESSION.NAME=…; sessions with an address: {known}"
            problem = "it is not known to which session it belongs"
            raise InvalidArgumentError(problem, subject=f"{option} {name}", remedy=remedy)
        found[session][own] = value
    return found
