"""The command ``egotools search``: the tools that a request needs, from a store in this process or from a running server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from egotools.values import NeedResult, Query, RankedTool, Reasons, Response
from ontology.errors import InvalidArgumentError
from services.cli.command_error import command_error
from services.cli.console import plain, print_id_lines, print_json, printable, stdout, whole_words
from services.cli.options import Json, Needs, Store
from services.jobs.plans import DEFAULT_STORE, AllowedModels

if TYPE_CHECKING:
    from retrieval.engine import Engine
    from retrieval.query.request import Request
    from services.server.query_model import Improved

__all__ = ["format_reasons", "read_have", "search", "show_needs"]

_SHOWN = 2


def format_reasons(tool_id: str, reasons: Reasons) -> str:
    """The words that matched, the edges that led to the tool, and which tools supply its inputs; at most two of each."""
    node = f"tool:{tool_id}"
    parts = []
    words = [f'"{match.text}"{_declared(match.origin)}' for match in reasons.entries if match.kind == "ngram"]
    if words:
        parts.append("says " + ", ".join(dict.fromkeys(words[:_SHOWN])))
    elif any(match.node == node for match in reasons.entries):
        parts.append("near in meaning")
    edges = [
        f"{edge.predicate} {(edge.tail if edge.head == node else edge.head).partition(':')[2]}{_declared(edge.origin)}"
        for edge in reasons.edges
    ]
    if edges:
        parts.append("via " + ", ".join(dict.fromkeys(edges[:_SHOWN])))
    supplied = [
        f"{binding.parameter or 'it'} from {binding.supplier}{_declared(binding.origin)}"
        for binding in reasons.bindings
        if binding.supplier
    ]
    if supplied:
        parts.append("gets " + ", ".join(supplied[:_SHOWN]))
    missing = [
        f"{binding.parameter}{_declared(binding.origin)}" for binding in reasons.bindings if not binding.supplier
    ]
    if missing:
        parts.append("asks for " + ", ".join(missing[:_SHOWN]))
    boost = reasons.features.get("overlay_boost")
    if boost:
        parts.append(f"{'raised' if boost > 0 else 'lowered'} by an overlay")
    return "; ".join(parts) or "near in text"


def _declared(origin: str) -> str:
    """Where an overlay file declares it, in parentheses; empty where none does."""
    return f" ({origin})" if origin else ""


_INDENT = "    "  # of evidence below its tool
_MODEL_S = 30.0  # that a chat model has to write needs
_MAX_AUTO_K = 20  # maximum number of tools with ``-k auto``


def search(
    query: Annotated[
        str, typer.Argument(metavar="[REQUEST]", help="The request in plain words; context beside --need.")
    ] = "",
    store: Store = DEFAULT_STORE,
    address: Annotated[
        str,
        typer.Option(
            "--server",
            "--address",
            help="Send the request to a running server (HOST:PORT). Default: search the store in this process.",
        ),
    ] = "",
    k: Annotated[
        str,
        typer.Option(
            "-k",
            "--k",
            help="Number of tools; auto or auto:N: as few as are probably enough, 1 to N (20).",
        ),
    ] = "10",
    preset: Annotated[
        str,
        typer.Option(
            help="Retriever: default, paper, semantic, hybrid, bm25-regex-title, … An unknown name lists all."
        ),
    ] = "",
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            help="KEY=VALUE: only tools with this metadata. The same key again allows another value; another key "
            "restricts further. !VALUE excludes, START* matches every value with that start; the key id is the tool's id.",
        ),
    ] = None,
    done: Annotated[
        list[str] | None,
        typer.Option("--done", help="Id of a tool that was executed for this task already: it is not returned again."),
    ] = None,
    have: Annotated[
        list[str] | None,
        typer.Option(
            "--have",
            help="NAME=VALUE: a value that is known already, by the name of an input or the kind of object; the value may be empty.",
        ),
    ] = None,
    needs: Needs = None,
    query_model: Annotated[
        str,
        typer.Option(
            help="Chat model that writes the needs of a request of the preset default: openai:MODEL@http://HOST:PORT/v1. A server has its own."
        ),
    ] = "",
    abstain: Annotated[
        bool, typer.Option("--abstain", help="No tools where probably none of the catalogue fits.")
    ] = False,
    why: Annotated[
        bool, typer.Option("--why", help="Show also the evidence: words, edges of the graph, suppliers of inputs.")
    ] = False,
    allowed_models: AllowedModels = (),
    as_json: Json = False,
) -> None:
    """Find the tools that a request needs, with a line that explains each."""
    most, auto_k = _read_k(k)
    asked = Query(
        query,
        k=most,
        preset=preset,
        filters=_read_filters(filters or []),
        auto_k=auto_k,
        done=tuple(done or ()),
        have=read_have(have or []),
        explain=why or as_json,
        explanation=True,
        abstain=abstain,
        needs=tuple(needs or ()),
    )
    if address and query_model:
        remedy = "Start the server with it: egotools serve --query-model"
        raise InvalidArgumentError(
            "the model of a server is chosen where it starts", subject="--query-model", remedy=remedy
        )
    response = _search_server(address, asked) if address else _search_store(store, asked, allowed_models, query_model)
    if as_json:
        print_json(_to_json(response))
    else:
        _show(response, why=why)


def _search_store(store: Path, query: Query, allowed_models: Sequence[str], query_model: str) -> Response:
    """Search the published snapshot of a store in this process."""
    from retrieval.engine import open_engine
    from retrieval.query.request import Request

    request = Request(**asdict(query))
    engine = open_engine(store, allowed_models=allowed_models)
    if not query_model:
        return engine.retriever(query.preset).retrieve(request)
    improved = _improved(engine, request, query_model)
    return improved.told(engine.retriever(query.preset).retrieve(improved.request))


def _improved(engine: Engine, request: Request, query_model: str) -> Improved:
    """The request with the needs that a chat model sees in it.

    :raises InvalidArgumentError: where the request has needs already, or another preset.
    """
    from services.server.query_model import QueryModel, open_query_chat, what_is_searched

    model = QueryModel(open_query_chat(query_model))
    if not model.helps(request):
        remedy = "Leave out --need and --preset, or this option"
        raise InvalidArgumentError("it writes needs for the preset default", subject="--query-model", remedy=remedy)

    async def searched() -> str:
        return what_is_searched(engine)

    ends = time.monotonic() + 2 * _MODEL_S  # the model has half of it
    return asyncio.run(model.improve(request, "", ends, searched=searched))


def _search_server(address: str, query: Query) -> Response:
    """Search through a running server; the timings also have the round trip.

    :raises EgotoolsError: with the exit code that belongs to the status of the call.
    """
    from egotools import Client, ClientError

    started = time.perf_counter()
    try:
        with Client(address) as client:
            response = client.retrieve(**asdict(query))
    except ClientError as error:
        raise command_error(error, address) from error
    round_trip_ms = (time.perf_counter() - started) * 1e3
    return replace(response, timings_ms={**response.timings_ms, "round_trip": round_trip_ms})


def _to_json(response: Response) -> dict[str, Any]:
    return {
        "preset": response.preset,
        "snapshot_id": response.snapshot_id,
        "tools": [
            {
                "rank": tool.rank,
                "id": tool.id,
                "score": tool.score,
                "probability": tool.probability,
                "needs": list(tool.needs),
                "completes": tool.completes,
                "explanation": tool.explanation,
                "why": format_reasons(tool.id, tool.reasons),
                "reasons": asdict(tool.reasons),
            }
            for tool in response.tools
        ],
        "timings_ms": {stage: round(spent_ms, 3) for stage, spent_ms in response.timings_ms.items()},
        "fallbacks": list(response.fallbacks),
        "answerable_probability": response.answerable_probability,
        "unanswerable": response.unanswerable,
        "need_results": [asdict(each) for each in response.need_results],
    }


def _show(response: Response, *, why: bool) -> None:
    has_probability = any(tool.probability is not None for tool in response.tools)
    figure = "%: needed, if any fits" if has_probability else "score"
    stdout.print(
        f"{plain(response.preset)} · snapshot {plain(response.snapshot_id)} · {figure}",
        highlight=False,
        soft_wrap=True,
    )
    if why:
        _show_evidence(response.tools)
    else:
        print_id_lines([(_before(tool), tool.id, tool.explanation) for tool in response.tools])
    show_needs(response.need_results)
    if response.doubt:
        stdout.print(f"[yellow]{response.doubt}[/]")
    for reason in response.fallbacks:
        stdout.print(f"[yellow]fallback[/]: {plain(reason)}")


def show_needs(results: Sequence[NeedResult]) -> None:
    """Print a line for each need: its best tool, and whether that may not fit."""
    for number, each in enumerate(results):
        doubt = "; [yellow]may not fit[/]" if each.unserved else ""
        served = "" if each.probability is None else f" (served: {each.probability:.0%}{doubt})"
        best = plain(each.tool) or "no tool"
        stdout.print(f"need {number}: {plain(each.need)}: {best}{served}", highlight=False, soft_wrap=True)


def _before(tool: RankedTool) -> str:
    """Rank, and probability or else score, of one width."""
    figure = f"{tool.score:7.3f}" if tool.probability is None else f"{tool.probability:4.0%}"
    return f"{tool.rank:>2} {figure}  "


def _show_evidence(tools: Sequence[RankedTool]) -> None:
    """Print a tool's line, and below it all that is known of why it is there."""
    for tool in tools:
        stdout.print(f"{_before(tool)}{plain(tool.id)}", highlight=False, soft_wrap=True)
        for line in (tool.explanation, f"score {tool.score:.3f}; {format_reasons(tool.id, tool.reasons)}"):
            for part in whole_words(printable(line), stdout.width, _INDENT, _INDENT):
                stdout.print(Text(part), highlight=False, soft_wrap=True)


def _read_k(text: str) -> tuple[int, bool]:
    """Parse the option ``-k``: the maximum number of tools, and whether it is ``auto``: ``10``, ``auto`` (20), ``auto:40``.

    :raises InvalidArgumentError: for another text.
    """
    word, _, most = text.partition(":")
    auto = word == "auto"
    try:
        return int((most or _MAX_AUTO_K) if auto else text), auto
    except ValueError:
        raise InvalidArgumentError(
            f"{text!r} is no number of tools", subject="-k", remedy="Write 10, auto or auto:40"
        ) from None


def _read_filters(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Parse filters from ``KEY=VALUE`` texts; a repeated key allows one more value.

    :raises InvalidArgumentError: for a text in another format.
    """
    filters: dict[str, tuple[str, ...]] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise InvalidArgumentError(
                f"{text!r} is not KEY=VALUE", subject="--filter", remedy="Write --filter KEY=VALUE"
            )
        filters[key] = (*filters.get(key, ()), value)
    return filters


def read_have(texts: Sequence[str]) -> dict[str, str]:
    """Parse known values from ``NAME=VALUE`` texts; of a repeated name the last one counts.

    :raises InvalidArgumentError: for a text in another format.
    """
    have: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise InvalidArgumentError(
                f"{text!r} is not NAME=VALUE",
                subject="--have",
                remedy="Write --have NAME=VALUE, or NAME= for a value you keep",
            )
        have[name] = value
    return have
