"""The options of every command that calls tools: what may be called, where, and with which credentials."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from egotools.calling.address_guard import parse_networks
from egotools.client_errors import ToolRequestError
from ontology.errors import InvalidArgumentError
from services.cli.credentials import read_credentials, read_references

if TYPE_CHECKING:
    from egotools.calling.mcp_invoker import McpAddress
    from planners.calls.tool_access import ToolAccess

__all__ = ["NO_CALL_OPTIONS", "CallOptions", "PlanCalls"]


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
