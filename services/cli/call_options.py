"""The options of every command that calls tools: what may be called, where, and with which credentials."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from egotools.call import Call
from egotools.calling.address_guard import parse_networks
from egotools.client_errors import ToolRequestError
from ontology.errors import InvalidArgumentError
from ontology.files import read_bounded

if TYPE_CHECKING:
    from egotools.calling.mcp_invoker import McpAddress
    from planners.calls.tool_access import ToolAccess

__all__ = ["NO_CALL_OPTIONS", "CallOptions", "PlanCalls", "refuse_unused"]

_VARIABLE = re.compile(r"^\$\{([A-Za-z_][A-Za-z0-9_]*)\}\Z")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey)?\s*", re.IGNORECASE)
_REMEDY = "Write KEY=${VAR} for a variable of the environment (in single quotes), or KEY=@FILE for a file"

_NO_CREDENTIALS = {
    "mcp": "Give --header or --env to the server of the session",
    "aws": "Leave it out: botocore signs with the credentials of its own configuration",
    "python": "Leave it out",
}


def read_credentials(texts: Sequence[str]) -> dict[str, str]:
    """Return the map from the key of a security scheme to its credential, from ``KEY=${VAR}`` and ``KEY=@FILE``.

    :raises InvalidArgumentError: for a credential that is written out (which is not repeated), and for one that is not there.
    """
    found = {}
    for text in texts:
        key, separator, reference = text.partition("=")
        if not separator or not key:
            raise InvalidArgumentError("this is not KEY=REFERENCE", subject="--credential", remedy=_REMEDY)
        found[key] = _referred_to(f"--credential {key}", reference)
    return found


def read_references(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return the map from name to value, from ``NAME=@FILE`` and ``NAME=TEXT`` whose text has references ``${VAR}``.

    Beside its references a text may have the word of a scheme, as in ``Authorization=Bearer ${TOKEN}``.

    :raises InvalidArgumentError: as :func:`read_credentials`.
    """
    found = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise InvalidArgumentError("this is not NAME=REFERENCE", subject=option, remedy=_REMEDY)
        subject = f"{option} {name}"
        if _REFERENCE.search(value) and _SCHEME.fullmatch(_REFERENCE.sub("", value)):
            found[name] = _expanded(subject, value)
        else:
            found[name] = _referred_to(subject, value)
        if not found[name].isprintable():
            raise InvalidArgumentError("the value is not one line", subject=subject, remedy="Correct what it refers to")
    return found


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
        problem, remedy = (
            f"a call by the protocol {call.protocol!r} takes no {unused[0]!r}",
            _NO_CREDENTIALS[call.protocol],
        )
    else:
        problem = f"the tool's document declares no security, so it has no scheme {unused[0]!r}"
        remedy = "Leave it out; if the API wants it, declare its scheme in the document (security) and build again"
    raise InvalidArgumentError(problem, subject="--credential", remedy=remedy)


def _expanded(subject: str, text: str) -> str:
    return _REFERENCE.sub(lambda match: _variable(subject, match[1]), text)


def _variable(subject: str, name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise InvalidArgumentError(
            f"the environment has no variable {name}",
            subject=subject,
            remedy="Export it before the command; where an MCP client starts the command, write it into the client's "
            f'configuration: "env": {{"{name}": "…"}}',
        )
    return value


def _referred_to(subject: str, reference: str) -> str:
    if variable := _VARIABLE.match(reference):
        return _variable(subject, variable[1])
    if reference.startswith("@"):
        try:
            value = read_bounded(Path(reference[1:]), 2**20).decode("utf-8").strip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidArgumentError(
                "the file of the credential cannot be read", subject=subject, remedy="Name a text file that is there"
            ) from error
        if not value:
            raise InvalidArgumentError("the file of the credential is empty", subject=subject, remedy=_REMEDY)
        return value
    raise InvalidArgumentError(
        "a credential is not taken from the command line itself: other users and the history of the shell would see it",
        subject=subject,
        remedy=_REMEDY,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """What may be called, where, and with which credentials."""

    base_urls: Annotated[
        tuple[str, ...],
        Option("--base-url", help="[NAMESPACE=]URL: the API of tools over HTTP, instead of their document's."),
    ] = ()
    sessions: Annotated[
        tuple[str, ...], Option("--session", help="[NAME=]ADDRESS: an MCP server, mcp:COMMAND … or mcp+https://….")
    ] = ()
    credentials: Annotated[
        tuple[str, ...],
        Option(
            "--credential",
            help="[NAMESPACE.]KEY[@HOST]=${VAR} or =@FILE: the credential of a security scheme, never written out. Without a namespace "
            "it goes to the API of a --base-url only; with a host, to no other.",
        ),
    ] = ()
    headers: Annotated[
        tuple[str, ...],
        Option(
            "--header",
            help="[SESSION.]NAME=${VAR}, =@FILE or 'Authorization=Bearer ${VAR}': a header for an MCP server over HTTP.",
        ),
    ] = ()
    env: Annotated[
        tuple[str, ...],
        Option(help="[SESSION.]NAME=${VAR} or =@FILE: an environment variable of an MCP server on stdio."),
    ] = ()
    policy: Annotated[Path | None, Option(help="A file with rules: which calls are made, asked about, or refused.")] = (
        None
    )
    allow_networks: Annotated[
        tuple[str, ...],
        Option("--allow-network", help="A network, 10.0.0.0/8, in which servers that documents name may be."),
    ] = ()
    modules: Annotated[
        tuple[str, ...],
        Option("--python", help="A module of Python whose functions may be called. The domain personal needs none."),
    ] = ()
    timeout_s: Annotated[float, Option(min=0.1, help="Seconds for a call of a tool.")] = 30.0

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
            raise InvalidArgumentError(
                error.message, subject="--allow-network", remedy=error.remedy.rstrip(".")
            ) from None
        if self.modules and os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        return ToolAccess(
            modules=(*self.modules, *own_modules),
            servers=_named(self.base_urls, "--base-url", ("http://", "https://")),
            sessions=self._sessions(),
            credentials=read_credentials(self.credentials),
            policy=CallPolicy(confirmed=yes) if self.policy is None else read_policy(self.policy, confirmed=yes),
            allowed_networks=networks,
            timeout_s=self.timeout_s,
        )

    def _sessions(self) -> dict[str, McpAddress]:
        from egotools.calling.mcp_invoker import McpAddress

        addresses = _named(self.sessions, "--session", ("mcp:", "mcp+http://", "mcp+https://"))
        headers = _of_sessions(read_references(self.headers, "--header"), addresses, "--header")
        env = _of_sessions(read_references(self.env, "--env"), addresses, "--env")
        return {
            name: McpAddress(session=address, headers=headers[name], env=env[name])
            for name, address in addresses.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCalls:
    """Whether and how the calls of a plan are made."""

    execute: Annotated[bool, Option("--execute", help="Make the calls of the plan, in their order.")] = False
    journal: Annotated[
        Path | None,
        Option(help="Write every call to this file. A run that was interrupted goes on, without repeating a call."),
    ] = None
    yes: Annotated[
        bool,
        Option(
            "--yes", "-y", help="Do not ask before a call that may change something, but where the policy says ask."
        ),
    ] = False


NO_CALL_OPTIONS = CallOptions()
"""None of them given."""


def _named(texts: Sequence[str], option: str, starts: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, separator, address = ("", "=", text) if text.startswith(starts) else text.partition("=")
        if not separator or not address.startswith(starts):
            forms = " or ".join(f"{start}…" for start in starts)
            raise InvalidArgumentError(
                f"{text!r} is no address", subject=option, remedy=f"Write {forms}, or NAME=ADDRESS"
            )
        if name in found:
            raise InvalidArgumentError("there are two addresses of one name", subject=option, remedy="Give one of them")
        found[name] = address
    return found


def _of_sessions(given: Mapping[str, str], sessions: Mapping[str, str], option: str) -> dict[str, dict[str, str]]:
    """Return name → value of each session. A value without the name of a session is for the only one: it goes to no other server."""
    found: dict[str, dict[str, str]] = {session: {} for session in sessions}
    for name, value in given.items():
        session, _, own = name.rpartition(".")
        if not session and session not in sessions and len(sessions) == 1:
            session = next(iter(sessions))
        if session not in sessions:
            known = ", ".join(filter(None, sorted(sessions))) or "none"
            raise InvalidArgumentError(
                "it is not known to which session it belongs",
                subject=f"{option} {name}",
                remedy=f"Write SESSION.NAME=…; sessions with an address: {known}",
            )
        found[session][own] = value
    return found
