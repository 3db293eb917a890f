"""The commands ``egotools search``, the tools that a request needs, and ``call``, one tool, shown and confirmed before."""

from __future__ import annotations

import asyncio
import base64
import json
import mimetypes
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text
from typer import Argument, Option

from egotools import Client, Tool
from egotools.calling.answer_fence import binary_size
from egotools.calling.call_credentials import bound_credentials
from egotools.calling.invoker import MAX_BYTES, ToolAnswer, ToolInvoker
from egotools.calling.tool_request import AwsCall, McpCall, PythonCall, ToolRequest
from egotools.client_errors import ClientError, MissingPackageError
from egotools.values import NeedResult, Query, Reasons, Response, ToolPlan
from ontology.errors import EgotoolsError, InvalidArgumentError, MissingExtraError, ToolCallError
from ontology.files import read_bounded
from planners.calls.untrusted import fence_answer
from services.cli.console import line_width, plain, print_json, printable, say, stdout, tell, whole_words
from services.cli.options import (
    NO_CALL_OPTIONS,
    CallOptions,
    Done,
    Have,
    Json,
    Needs,
    Server,
    Store,
    Yes,
    check_known,
    command_error,
    confirmed,
    refuse_unused,
)
from services.jobs.plans import DEFAULT_RERANKER, DEFAULT_STORE, AllowedModels, Rare, Reranker

if TYPE_CHECKING:
    from planners.calls.tool_access import ToolAccess

_SHOWN = 2
_TOOL = ("rank", "id", "score", "probability", "needs", "completes")
_INDENT = "    "  # of what is said of a tool
_MAX_AUTO_K = 20  # maximum number of tools with ``-k auto``


def search(
    query: Annotated[str, Argument(metavar="[REQUEST]", help="The request; the context of --need.")] = "",
    needs: Needs = None,
    store: Store = DEFAULT_STORE,
    server: Server = "",
    k: Annotated[str, Option("-k", "--k", help="Number of tools; auto:N: as few as are enough, to N.")] = "10",
    have: Have = None,
    filters: Annotated[
        list[str] | None, Option("--filter", help="KEY=VALUE, !VALUE or START*; the key id too.")
    ] = None,
    why: Annotated[bool, Option("--why", help="Show the evidence: words, edges, suppliers of inputs.")] = False,
    done: Done = None,
    preset: Annotated[str, Rare(help="Retriever: default, paper, semantic, bm25, … An unknown name lists all.")] = "",
    abstain: Annotated[bool, Rare("--abstain", help="No tools where probably none of the catalogue fits.")] = False,
    budget: Annotated[
        int, Rare("--budget-tokens", help="Most tokens of the tools' schemas (three bytes each); 0: any.")
    ] = 0,
    reranker: Reranker = DEFAULT_RERANKER,
    allowed_models: AllowedModels = (),
    as_json: Json = False,
) -> None:
    """Find the tools that a request needs, with a line that explains each."""
    word, _, given = k.partition(":")
    auto_k = word == "auto"
    try:
        most = int((given or _MAX_AUTO_K) if auto_k else k)
    except ValueError:
        problem, remedy = f"{k!r} is no number of tools", "Write 10, auto or auto:40"
        raise InvalidArgumentError(problem, subject="-k", remedy=remedy) from None
    allowed: dict[str, tuple[str, ...]] = {}
    for text in filters or []:
        for key, value in read_pairs([text], "--filter", "KEY").items():
            allowed[key] = (*allowed.get(key, ()), value)
    asked = Query(
        query,
        k=most,
        preset=preset,
        filters=allowed,
        auto_k=auto_k,
        done=tuple(done or ()),
        have=read_pairs(have or [], "--have"),
        explain=why or as_json,
        explanation=True,
        abstain=abstain,
        needs=tuple(needs or ()),
        budget_tokens=budget,
        schema_format="openai" if budget else "none",
    )
    if server:
        if reranker != DEFAULT_RERANKER:
            problem, remedy = "a running server has its own", "Give it to `egotools serve`"
            raise InvalidArgumentError(problem, subject="--reranker", remedy=remedy)
        started = time.perf_counter()
        with Client(server) as client:
            response = client.retrieve(**asdict(asked))
        timings_ms = {**response.timings_ms, "round_trip": (time.perf_counter() - started) * 1e3}
        response = replace(response, timings_ms=timings_ms)
    else:
        from retrieval.engine import open_engine, open_reranker
        from retrieval.query.request import Request
        from services.server.messages import tool_tokens

        engine = open_engine(store, reranker=open_reranker(reranker), allowed_models=allowed_models)
        size_of = partial(tool_tokens, engine, schema_format=asked.schema_format)
        response = engine.retriever(preset).retrieve(Request(**asdict(asked), size_of=size_of))
    if not as_json:
        return _show(response, why=why)
    tools = [
        {
            **{name: getattr(tool, name) for name in _TOOL},
            "explanation": tool.explanation,
            "why": format_reasons(tool.id, tool.reasons),
            "reasons": asdict(tool.reasons),
        }
        for tool in response.tools
    ]
    told = {
        "preset": response.preset,
        "snapshot_id": response.snapshot_id,
        "tools": tools,
        "timings_ms": {stage: round(spent_ms, 3) for stage, spent_ms in response.timings_ms.items()},
        **{name: getattr(response, name) for name in ("fallbacks", "answerable_probability", "unanswerable")},
        "need_results": [asdict(each) for each in response.need_results],
    }
    return print_json(told)


def _show(response: Response, *, why: bool) -> None:
    """Print two lines for each tool: its id, and why it is there; with the evidence more."""
    figure = "%: needed, if any fits" if any(tool.probability is not None for tool in response.tools) else "score"
    say(f"{plain(response.preset)} · snapshot {plain(response.snapshot_id)} · {figure}")
    for tool in response.tools:
        known = f"{tool.score:7.3f}" if tool.probability is None else f"{tool.probability:4.0%}"
        say(f"{tool.rank:>2} {known}  [bold]{plain(tool.id)}[/]")
        explained = Text(_INDENT + " ".join(printable(tool.explanation).split()))
        if not why and line_width() < explained.cell_len:
            explained.truncate(stdout.width, overflow="ellipsis")
        evidence = f"score {tool.score:.3f}; {format_reasons(tool.id, tool.reasons)}"
        for line in (explained.plain, *([printable(evidence)] if why else ())):
            for part in whole_words(line.strip(), line_width(), _INDENT, _INDENT):
                stdout.print(Text(part), highlight=False, soft_wrap=True)
    show_needs(response.need_results)
    show_doubts(response)


def show_needs(results: Sequence[NeedResult]) -> None:
    """Print a line for each need: its best tool, and whether that may not fit."""
    for number, each in enumerate(results):
        doubt = "; [yellow]may not fit[/]" if each.unserved else ""
        served = "" if each.probability is None else f" (served: {each.probability:.0%}{doubt})"
        say(f"need {number}: {plain(each.need)}: {plain(each.tool) or 'no tool'}{served}")


def show_doubts(answer: Response | ToolPlan) -> None:
    """Print that the tools may not fit, and what the answer lacks."""
    if answer.doubt:
        say(f"[yellow]{plain(answer.doubt)}[/]")
    for reason in answer.fallbacks:
        say(f"[yellow]fallback[/]: {plain(reason)}")


def format_reasons(tool_id: str, reasons: Reasons) -> str:
    """The words that matched, the edges that led to the tool, and which tools supply its inputs; at most two of each. What an overlay
    file declares is followed by its name in parentheses.
    """
    node, found = f"tool:{tool_id}", dict[str, dict[str, None]]()

    def add(what: str, text: str, origin: str) -> None:
        found.setdefault(what, {})[f"{text} ({origin})" if origin else text] = None

    for match in reasons.entries:
        if match.kind == "ngram":
            add("says", f'"{match.text}"', match.origin)
    for edge in reasons.edges:
        other = edge.tail if edge.head == node else edge.head
        add("via", f"{edge.predicate} {other.partition(':')[2]}", edge.origin)
    for each in sorted(reasons.bindings, key=lambda binding: not binding.supplier):
        if each.supplier:
            add("gets", f"{each.parameter or 'it'} from {each.supplier}", each.origin)
        else:
            add("asks for", each.parameter, each.origin)
    parts = [f"{what} {', '.join(list(texts)[:_SHOWN])}" for what, texts in found.items()]
    if "says" not in found and any(match.node == node for match in reasons.entries):
        parts.insert(0, "near in meaning")
    if boost := reasons.features.get("overlay_boost"):
        parts.append(f"{'raised' if boost > 0 else 'lowered'} by an overlay")
    return "; ".join(parts) or "near in text"


def read_pairs(texts: Sequence[str], option: str, name: str = "NAME") -> dict[str, str]:
    """Parse ``NAME=VALUE`` texts, of a repeated name the last; InvalidArgumentError for a text in another format."""
    pairs = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key:
            remedy = f"Write {option} {name}=VALUE"
            raise InvalidArgumentError(f"{text!r} is not {name}=VALUE", subject=option, remedy=remedy)
        pairs[key] = value
    return pairs


_MAX_SHOWN = 20_000
_QUIET_HEADERS = ("host", "content-length")
_EXTRAS = {"mcp": "mcp", "botocore": "aws"}
_SCHEMA_BYTES = 8 * 2**10  # of what an MCP server lists, where the arguments do not fit it
_MOST_ARGUMENTS, _MOST_FILE = 64 * 2**20, 2**30  # bytes, chosen


def call(
    tool: Annotated[str, Argument(help="Id of the tool.")],
    arguments: Annotated[str, Option("--arguments", "-a", help="Arguments as a JSON object, or @FILE.")] = "{}",
    files: Annotated[list[str] | None, Option("--file", help="NAME=PATH: the content of a file.")] = None,
    store: Store = DEFAULT_STORE,
    server: Server = "",
    calling: CallOptions = NO_CALL_OPTIONS,
    yes: Yes = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show the request and send nothing.")] = False,
    max_bytes: Annotated[int, Rare(min=1, help="Bytes of the answer that are taken.")] = MAX_BYTES,
    as_json: Json = False,
) -> None:
    """Call a tool: show the request, ask, send it, and print the answer.

    A call that only reads is sent at once, every other one is confirmed: at the terminal, or by --yes. The exit code is 16
    when the tool answers with an error or cannot be reached.
    """
    from egotools.calling.mcp_invoker import ChangedToolError

    given = {**_read_arguments(arguments), **_read_files(files or [])}
    access = replace(calling.access(yes=yes), max_bytes=max_bytes)
    if server:
        with Client(server) as client:
            found_tool = client.get_tool(tool)
    else:
        from egotools.codec import read_value
        from retrieval.snapshot.reader import open_snapshot
        from services.server.messages import tool_message

        snapshot = open_snapshot(store)
        check_known(snapshot, [tool])
        message = tool_message(snapshot.tool(snapshot.tool_number(tool)))
        found_tool = read_value(Tool, message, schema_json="", snapshot_id=snapshot.id)
    refuse_unused(found_tool.call, found_tool.namespace, access.credentials)
    try:
        base_url = access.server_of(found_tool)
        credentials = bound_credentials(
            found_tool.call, access.credentials, namespace=found_tool.namespace, server=base_url
        )
        asked: ToolRequest  # of an MCP tool the arguments are checked by what its server lists, when it is called
        if found_tool.call.protocol == "mcp" and not dry_run:
            asked = McpCall(session=found_tool.call.session, tool=found_tool.call.operation, arguments=given)
        else:
            asked = found_tool.request(given, server=base_url, credentials=credentials)
        request, text = _shown(asked, base_url)
        if not as_json:
            say(plain(text))
        if dry_run:
            if as_json:
                print_json({"request": request})
            return
        answer = asyncio.run(_called(found_tool, given, access, text if as_json else ""))
    except ChangedToolError as error:
        tell(plain(fence_answer(error.live, tool_id=found_tool.id, max_bytes=_SCHEMA_BYTES).text))
        raise _call_error(error) from error
    except ClientError as error:
        raise _call_error(error) from error
    found = _shown_answer(answer, found_tool.id)
    if as_json:
        print_json({"request": request, "answer": found})
    else:
        say(plain(found["text"]))
    if not answer.ok:
        problem = f"the tool answered with an error: {printable(answer.status)}"
        raise ToolCallError(problem, subject=tool, remedy="Read its answer")


def _shown(request: ToolRequest, base_url: str) -> tuple[dict[str, Any], str]:
    """Return the request as JSON values and as text for people; credentials are ``***``."""
    if isinstance(request, McpCall):
        row: dict[str, Any] = {"mcp_session": request.session, "tool": request.tool}
        title = f"MCP tool {request.tool}"
    elif isinstance(request, AwsCall):
        row = {"service": request.service, "operation": request.operation}
        title = f"AWS {request.service} {request.operation}" + (f" at {base_url}" if base_url else "")
    elif isinstance(request, PythonCall):
        row, title = {"function": request.function}, f"Python {request.function}"
    else:
        http: Any = request
        headers = [(name, value) for name, value in http.public_headers() if name.lower() not in _QUIET_HEADERS]
        body = http.read().decode("utf-8", "replace")
        shown = body if len(body) <= _MAX_SHOWN else f"{body[:_MAX_SHOWN]}… ({len(body):,} characters)"
        lines = [f"{http.method} {http.public_url}", *(f"{name}: {value}" for name, value in headers)]
        row = {"method": http.method, "url": http.public_url, "headers": dict(headers), "body": body}
        return row, "\n".join([*lines, "", shown] if body else lines)
    row["arguments"] = _plain(request.arguments)
    return row, f"{title}\n\n{json.dumps(row['arguments'], ensure_ascii=False, indent=1)}"


def _shown_answer(answer: ToolAnswer, tool_id: str) -> dict[str, Any]:
    """Return the answer as JSON values: whole (``body``, or ``body_base64`` of binary data), and as the fenced ``text`` that models see."""
    shown = fence_answer(answer, tool_id=tool_id)
    row: dict[str, Any] = {"ok": answer.ok, "status": answer.status, "text": printable(shown.text)}
    if shown.flags:
        row["flags"] = list(shown.flags)
    if answer.media_type:
        row["media_type"] = answer.media_type
    is_binary = isinstance(answer.body, str) and binary_size(answer.body, answer.media_type) is not None
    return {**row, "body_base64" if is_binary else "body": _plain(answer.body)}


def _plain(value: Any) -> Any:
    """Return the value as JSON: bytes in base64, dates and the like as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


async def _called(tool: Tool, arguments: dict[str, Any], access: ToolAccess, text: str) -> ToolAnswer:
    """Call a tool as the gateways do, without retries, and also of AWS: policy and consent first. ``text``: not shown yet."""
    from egotools.calling.aws_invoker import AwsInvoker
    from inference.retry import RetryPolicy
    from planners.calls.tool_access import CallLimits

    async def ask(asked: Tool, given: Mapping[str, Any]) -> bool:
        if asked.effect != tool.effect:
            tell("Its server does not say any more that it does as little as the catalogue has it.")
        if not sys.stdin.isatty():
            problem = "this call may change something, and there is no terminal to confirm it"
            give = "give --yes, or confirm at a terminal what a policy asks about"
            raise InvalidArgumentError(
                problem, subject="--yes", remedy=f"Look at the request with --dry-run, then {give}"
            )
        if not confirmed(text, "Send it?"):
            raise InvalidArgumentError("the call was not confirmed; nothing was sent", subject="call")
        return True

    def own(called: ToolInvoker) -> ToolInvoker:
        if tool.call.protocol != "aws":
            return called
        limits: Any = {"timeout_s": access.timeout_s, "max_bytes": access.max_bytes}
        return AwsInvoker(endpoint_url=access.server_of(tool), **limits)

    async with access.calling(ask, CallLimits(), own, RetryPolicy(max_retries=0)) as pipeline:
        return await pipeline.invoke(tool, arguments)


def _read_arguments(text: str) -> dict[str, Any]:
    if text.startswith("@"):
        text = _content(text[1:], "--arguments", _MOST_ARGUMENTS).decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        problem, remedy = f"this is no JSON: {str(error)[:200]}", """For example: --arguments '{"id": 7}'"""
        raise InvalidArgumentError(problem, subject="--arguments", remedy=remedy) from None
    if not isinstance(value, dict):
        raise InvalidArgumentError("this is no JSON object", subject="--arguments", remedy="Give names and values")
    return value


def _read_files(texts: list[str]) -> dict[str, tuple[str, bytes, str]]:
    files = {}
    for text in texts:
        name, separator, path = text.partition("=")
        if not separator or not name or not path:
            remedy = "For example: --file photo=me.png"
            raise InvalidArgumentError(f"{text!r} is not NAME=PATH", subject="--file", remedy=remedy)
        media_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
        files[name] = (Path(path).name, _content(path, "--file", _MOST_FILE), media_type)
    return files


def _content(path: str, option: str, most: int) -> bytes:
    try:
        return read_bounded(Path(path), most)
    except OSError as error:
        problem, remedy = f"the file cannot be read: {error.strerror}", "Name a file that is there, and has an end"
        raise InvalidArgumentError(problem, subject=f"{option} {path}", remedy=remedy) from error


def _call_error(error: ClientError) -> EgotoolsError:
    """Return the error of the command for one of the contract."""
    if isinstance(error, MissingPackageError) and error.package in _EXTRAS:
        return MissingExtraError(error.package, extra=_EXTRAS[error.package])
    if error.code in ("UNAVAILABLE", "RESOURCE_EXHAUSTED"):
        return ToolCallError(error.message, subject=error.subject, remedy=error.remedy.rstrip("."))
    return command_error(error)
