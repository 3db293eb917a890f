"""The options of every command that calls tools: what may be called, where, and with which credentials; and who is asked before."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from egotools import Tool
from egotools.call import Call
from egotools.calling.address_guard import parse_networks
from egotools.client_errors import ToolRequestError
from ontology.errors import InvalidArgumentError, NotFoundError
from ontology.files import read_bounded
from services.cli.console import plain, stderr, tell
from services.jobs.plans import Rare

if TYPE_CHECKING:
    from egotools.calling.mcp_invoker import McpAddress
    from planners.calls.tool_access import Ask, ToolAccess
    from retrieval.snapshot.reader import Snapshot

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey)?\s*", re.IGNORECASE)
_LONGEST_ID = 300  # characters that are compared with the ids of a catalogue
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
    """Check that a snapshot has these tools.

    :raises NotFoundError: naming the first that it does not have, with those of nearly the same id.
    """
    for tool_id in tool_ids:
        if snapshot.find_node(f"tool:{tool_id}") is None:
            ids = {known.casefold(): known for known in map(snapshot.tool_id, range(snapshot.tool_count))}
            near = " or ".join(ids[each] for each in get_close_matches(tool_id.casefold()[:_LONGEST_ID], ids))
            remedy = f"Is it {near}" if near else "Try `egotools search` with what the tool does"
            raise NotFoundError("the catalogue has no such tool", subject=tool_id, remedy=remedy)


def read_references(texts: Sequence[str], option: str, *, in_text: bool = False) -> dict[str, str]:
    """Return the map from name to value, from ``NAME=${VAR}`` and ``NAME=@FILE``.

    :param in_text: whether the word of a scheme may stand beside references, as in ``Authorization=Bearer ${TOKEN}``.
    :raises InvalidArgumentError: for a value that is written out (which is not repeated), and for one that is not there.
    """
    found = {}
    for text in texts:
        name, separator, reference = text.partition("=")
        if not separator or not name:
            raise InvalidArgumentError("this is not NAME=REFERENCE", subject=option, remedy=_REMEDY)
        subject = f"{option} {name}"
        rest = _REFERENCE.sub("", reference)
        if _REFERENCE.fullmatch(reference) or (in_text and rest != reference and _SCHEME.fullmatch(rest)):
            found[name] = "".join(_expanded(subject, reference))
        else:
            found[name] = _of_file(subject, reference)
        if in_text and not found[name].isprintable():
            raise InvalidArgumentError("the value is not one line", subject=subject, remedy="Correct what it refers to")
    return found


def _expanded(subject: str, text: str) -> str:
    def variable(match: re.Match[str]) -> str:
        value = os.environ.get(match[1], "")
        if not value:
            remedy = (
                "Export it before the command; where an MCP client starts the command, write it into the client's "
                f'configuration: "env": {{"{match[1]}": "…"}}'
            )
            raise InvalidArgumentError(f"the environment has no variable {match[1]}", subject=subject, remedy=remedy)
        return value

    return _REFERENCE.sub(variable, text)


def _of_file(subject: str, reference: str) -> str:
    if not reference.startswith("@"):
        problem = "a credential is not taken from the command line itself: other users and the history of the shell would see it"
        raise InvalidArgumentError(problem, subject=subject, remedy=_REMEDY)
    try:
        value = read_bounded(Path(reference[1:]), 2**20).decode("utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        problem, remedy = "the file of the credential cannot be read", "Name a text file that is there"
        raise InvalidArgumentError(problem, subject=subject, remedy=remedy) from error
    if not value:
        raise InvalidArgumentError("the file of the credential is empty", subject=subject, remedy=_REMEDY)
    return value


def refuse_unused(call: Call, namespace: str, keys: Iterable[str]) -> None:
    """Refuse a credential that a call has no place for.

    :param namespace: of its tool, with which a key may begin.
    :param keys: the keys of the schemes of the credentials.
    :raises InvalidArgumentError: for a key that the call's security does not name, listing those that it names.
    """
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
        """Return what they allow. Modules are found in the present folder too, as ``python -m`` finds them.

        :param own_modules: whose functions may be called without being named.
        :param yes: whether calls that no rule of the policy names are confirmed already.
        :raises InvalidArgumentError: for a text in another form, and a policy with faults.
        """
        from planners.calls.tool_access import CallPolicy, ToolAccess, read_policy

        try:
            networks = parse_networks(self.allow_networks)
        except ToolRequestError as error:
            remedy = error.remedy.rstrip(".")
            raise InvalidArgumentError(error.message, subject="--allow-network", remedy=remedy) from None
        if self.modules and os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        return ToolAccess(
            modules=(*self.modules, *own_modules),
            servers=_named(self.base_urls, "--base-url", ("http://", "https://")),
            sessions=self._sessions(),
            credentials=read_references(self.credentials, "--credential"),
            policy=CallPolicy(confirmed=yes) if self.policy is None else read_policy(self.policy, confirmed=yes),
            allowed_networks=networks,
            timeout_s=self.timeout_s,
        )

    def _sessions(self) -> dict[str, McpAddress]:
        from egotools.calling.mcp_invoker import McpAddress

        addresses = _named(self.sessions, "--session", ("mcp:", "mcp+http://", "mcp+https://"))
        headers = _of_sessions(self.headers, addresses, "--header")
        env = _of_sessions(self.env, addresses, "--env")
        return {
            name: McpAddress(session=address, headers=headers[name], env=env[name])
            for name, address in addresses.items()
        }


NO_CALL_OPTIONS = CallOptions()
"""None of them given."""


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
    """Return name → value of each session. A value without the name of a session is for the only one: it goes to no other server."""
    found: dict[str, dict[str, str]] = {session: {} for session in sessions}
    for name, value in read_references(texts, option, in_text=True).items():
        session, _, own = name.rpartition(".")
        if not session and session not in sessions and len(sessions) == 1:
            session = next(iter(sessions))
        if session not in sessions:
            known = ", ".join(filter(None, sorted(sessions))) or "none"
            problem, remedy = (
                "it is not known to which session it belongs",
                f"Write SESSION.NAME=…; sessions with an address: {known}",
            )
            raise InvalidArgumentError(problem, subject=f"{option} {name}", remedy=remedy)
        found[session][own] = value
    return found
