"""The command ``egotools call``: call one tool, after it was shown and confirmed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.markup import escape

from egotools.call import Call
from egotools.calling.send_call import MAX_BYTES, TIMEOUT_S, ToolAnswer, send_aws, send_http, send_mcp
from egotools.calling.tool_request import AwsCall, McpCall, PythonCall, ToolRequest, build_request
from egotools.client_errors import ClientError, MissingPackageError, ToolRequestError
from ontology.errors import EgotoolsError, InvalidArgumentError, MissingExtraError, ToolCallError, error_from_status
from services.cli.console import print_json, stderr, stdout
from services.cli.credentials import read_credentials, read_references, refuse_unused
from services.cli.options import Json, Store
from services.cli.printable import printable
from services.cli.show_call import shown_answer, shown_request
from services.jobs.plans import DEFAULT_STORE

__all__ = ["call"]

_READS = ("GET", "HEAD")
_EXTRAS = {"mcp": "mcp", "botocore": "aws"}
_BYTES = "application/octet-stream"


class _Target(NamedTuple):
    """How a tool is called, and the JSON Schema of its arguments."""

    call: Call
    schema: Mapping[str, Any]


class _McpServer(NamedTuple):
    """The address of an MCP server, the headers of its requests and the environment variables of its process."""

    session: str
    headers: Mapping[str, str]
    env: Mapping[str, str]


def call(
    tool: Annotated[str, typer.Argument(help="Id of the tool.")],
    store: Store = DEFAULT_STORE,
    server: Annotated[
        str, typer.Option(help="Ask a running egotools server (HOST:PORT) for the tool instead of a store.")
    ] = "",
    arguments: Annotated[str, typer.Option("--arguments", "-a", help="Arguments as a JSON object, or @FILE.")] = "{}",
    files: Annotated[
        list[str] | None, typer.Option("--file", help="NAME=PATH: an argument that is the content of a file.")
    ] = None,
    base_url: Annotated[str, typer.Option(help="Base URL of the API, instead of that of its document.")] = "",
    credentials: Annotated[
        list[str] | None,
        typer.Option(
            "--credential",
            help="KEY=${VAR} or KEY=@FILE: the credential of a security scheme, from the environment or a file; never the "
            "credential itself.",
        ),
    ] = None,
    session: Annotated[
        str, typer.Option(help="Of an MCP tool: its server, mcp:COMMAND … or mcp+https://…, as for build.")
    ] = "",
    headers: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            help="Of an MCP tool over HTTP: NAME=${VAR}, NAME=@FILE or 'Authorization=Bearer ${VAR}'; never the value itself.",
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(help="Of an MCP server on stdio: an environment variable, NAME=${VAR} or NAME=@FILE."),
    ] = None,
    timeout_s: Annotated[float, typer.Option(min=0.1, help="Seconds for the whole call.")] = TIMEOUT_S,
    max_bytes: Annotated[int, typer.Option(min=1, help="Bytes of the answer that are taken.")] = MAX_BYTES,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before a call that may change something.")
    ] = False,
    dry_run: Annotated[bool, typer.Option(help="Show the request and send nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Call a tool: show the request, ask, send it, and print the answer.

    A request with the method GET or HEAD is sent at once. Every other call is confirmed: at the terminal, or by --yes. The exit
    code is 16 when the tool answers with an error or cannot be reached.
    """
    given = {**_read_arguments(arguments), **_read_files(files or [])}
    secrets = read_credentials(credentials or [])
    server_of_tool = _McpServer(
        session, read_references(headers or [], "--header"), read_references(env or [], "--env")
    )
    target = _remote_target(server, tool) if server else _local_target(store, tool)
    refuse_unused(target.call, secrets)
    try:
        request = build_request(target.call, given, schema=target.schema, server=base_url, credentials=secrets)
        shown = shown_request(request, base_url)
        if not as_json:
            stdout.print(escape(shown["text"]), soft_wrap=True, highlight=False)
        if dry_run:
            if as_json:
                print_json({"request": shown["request"]})
            return
        if isinstance(request, McpCall) and not session:
            raise ToolRequestError(
                f"the tool is of the MCP session {request.session or 'that its source names'!r}",
                subject="session",
                remedy="Give its server again: --session 'mcp:COMMAND …' or --session mcp+https://….",
            )
        _confirm(request, shown["text"] if as_json else "", yes=yes)
        answer = asyncio.run(_send(request, base_url, server_of_tool, timeout_s, max_bytes))
    except ClientError as error:
        raise _command_error(error) from error
    found = shown_answer(answer)
    if as_json:
        print_json({"request": shown["request"], "answer": found})
    else:
        stdout.print(f"[bold]{escape(printable(answer.status))}[/]", highlight=False)
        stdout.print(escape(found["text"]), soft_wrap=True, highlight=False)
    if not answer.ok:
        raise ToolCallError(
            f"the tool answered with an error: {printable(answer.status)}", subject=tool, remedy="Read its answer"
        )


def _local_target(store: Path, tool: str) -> _Target:
    from retrieval.snapshot.reader import open_snapshot

    snapshot = open_snapshot(store)
    found = snapshot.tool(snapshot.tool_number(tool))
    return _Target(found.call or Call(), found.input_schema or {})


def _remote_target(server: str, tool: str) -> _Target:
    from egotools import Client

    try:
        with Client(server) as client:
            found = client.get_tool(tool)
    except ClientError as error:
        raise error_from_status(
            error.code, error.message, subject=error.subject or server, remedy=error.remedy
        ) from error
    return _Target(found.call, found.input_schema)


def _read_arguments(text: str) -> dict[str, Any]:
    if text.startswith("@"):
        text = _content(text[1:], "--arguments").decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(
            f"this is no JSON: {str(error)[:200]}",
            subject="--arguments",
            remedy="""For example: --arguments '{"id": 7}'""",
        ) from None
    if not isinstance(value, dict):
        raise InvalidArgumentError("this is no JSON object", subject="--arguments", remedy="Give names and values")
    return value


def _read_files(texts: list[str]) -> dict[str, tuple[str, bytes, str]]:
    files = {}
    for text in texts:
        name, separator, path = text.partition("=")
        if not separator or not name or not path:
            raise InvalidArgumentError(
                f"{text!r} is not NAME=PATH", subject="--file", remedy="For example: --file photo=me.png"
            )
        files[name] = (Path(path).name, _content(path, "--file"), _media_type(path))
    return files


def _media_type(path: str) -> str:
    import mimetypes

    return mimetypes.guess_type(path)[0] or _BYTES


def _content(path: str, option: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidArgumentError(
            f"the file cannot be read: {error.strerror}", subject=f"{option} {path}", remedy="Name a file that is there"
        ) from error


def _confirm(request: ToolRequest, text: str, *, yes: bool) -> None:
    """Ask whether the call shall be made, unless it only reads.

    :param text: the request, where it was not shown yet.
    :raises InvalidArgumentError: when there is nobody to ask, or the answer is no.
    """
    if yes or getattr(request, "method", "") in _READS:
        return
    if not sys.stdin.isatty():
        raise InvalidArgumentError(
            "this call may change something, and there is no terminal to confirm it",
            subject="--yes",
            remedy="Look at the request with --dry-run, then give --yes",
        )
    if text:
        stderr.print(text, markup=False, soft_wrap=True, highlight=False)
    stderr.print("Send it? [y/N] ", end="", markup=False)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InvalidArgumentError("the call was not confirmed; nothing was sent", subject="call")


async def _send(
    request: ToolRequest, base_url: str, server: _McpServer, timeout_s: float, max_bytes: int
) -> ToolAnswer:
    if isinstance(request, McpCall):
        return await send_mcp(
            request, server.session, headers=server.headers, env=server.env, timeout_s=timeout_s, max_bytes=max_bytes
        )
    if isinstance(request, AwsCall):
        return await send_aws(request, endpoint_url=base_url, timeout_s=timeout_s, max_bytes=max_bytes)
    if isinstance(request, PythonCall):
        raise ToolRequestError(
            "this command runs no Python functions",
            subject=request.function,
            remedy="Import it in a program of your own.",
        )
    return await send_http(request, timeout_s=timeout_s, max_bytes=max_bytes)


def _command_error(error: ClientError) -> EgotoolsError:
    """Return the error of the command for one of the contract, with its exit code."""
    if isinstance(error, MissingPackageError) and error.package in _EXTRAS:
        return MissingExtraError(error.package, extra=_EXTRAS[error.package])
    if error.code in ("UNAVAILABLE", "RESOURCE_EXHAUSTED"):
        return ToolCallError(error.message, subject=error.subject, remedy=error.remedy.rstrip("."))
    return error_from_status(error.code, error.message, subject=error.subject, remedy=error.remedy)
