"""The command ``egotools search``: the tools that a request needs, from a store in this process or from a running server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text
from typer import Argument, Option

from egotools import AsyncClient, Client
from egotools.values import NeedResult, Query, Reasons, Response, ToolPlan
from ontology.errors import InvalidArgumentError
from services.cli.console import line_width, plain, print_json, printable, say, stdout, whole_words
from services.cli.options import Done, Have, Json, Needs, Server, Store
from services.jobs.plans import DEFAULT_STORE, AllowedModels, Rare

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_SHOWN = 2
_TOOL = ("rank", "id", "score", "probability", "needs", "completes")
_INDENT = "    "  # of what is said of a tool
_MAX_AUTO_K = 20  # maximum number of tools with ``-k auto``


@asynccontextmanager
async def server_address(server: str, store: Path, allowed_models: Sequence[str] = ()) -> AsyncIterator[str]:
    """Yield the address of a server.

    :param server: address of a running one; empty: the store is served on loopback in this process meanwhile.
    """
    if server:
        yield server
        return
    from retrieval.engine import open_engine
    from retrieval.snapshot.publish import current_snapshot
    from services.server.server import Server as OwnServer
    from services.server.settings import ServerSettings

    current_snapshot(store)  # an error of the store comes before a server is started
    own = OwnServer(ServerSettings(port=0, workers=2, drain_s=0.0))
    address = await own.start()
    try:
        await own.load(lambda: open_engine(store, allowed_models=allowed_models))
        yield address
    finally:
        await own.stop(grace_s=1.0)


@asynccontextmanager
async def tools_client(
    server: str, store: Path, allowed_models: Sequence[str] = (), **options: Any
) -> AsyncIterator[AsyncClient]:
    """Yield a client of :func:`server_address`.

    :param options: those of :class:`egotools.AsyncClient`.
    """
    async with server_address(server, store, allowed_models) as address, AsyncClient(address, **options) as client:
        yield client


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
        have=read_pairs(have or [], "--have"),
        explain=why or as_json,
        explanation=True,
        abstain=abstain,
        needs=tuple(needs or ()),
        budget_tokens=budget,
        schema_format="openai" if budget else "none",
    )
    response = _answer(asked, server, store, allowed_models)
    if as_json:
        print_json(_to_json(response))
    else:
        _show(response, why=why)


def _answer(asked: Query, server: str, store: Path, allowed_models: Sequence[str]) -> Response:
    """Search through a running server, whose timings also have the round trip; without one, the store in this process."""
    if not server:
        from retrieval.engine import open_engine
        from retrieval.query.request import Request
        from services.server.messages import tool_tokens

        engine = open_engine(store, allowed_models=allowed_models)
        size_of = partial(tool_tokens, engine, schema_format=asked.schema_format)
        return engine.retriever(asked.preset).retrieve(Request(**asdict(asked), size_of=size_of))
    started = time.perf_counter()
    with Client(server) as client:
        response = client.retrieve(**asdict(asked))
    round_trip_ms = (time.perf_counter() - started) * 1e3
    return replace(response, timings_ms={**response.timings_ms, "round_trip": round_trip_ms})


def _to_json(response: Response) -> dict[str, Any]:
    tools = [
        {
            **{name: getattr(tool, name) for name in _TOOL},
            "explanation": tool.explanation,
            "why": format_reasons(tool.id, tool.reasons),
            "reasons": asdict(tool.reasons),
        }
        for tool in response.tools
    ]
    return {
        **{name: getattr(response, name) for name in ("preset", "snapshot_id")},
        "tools": tools,
        "timings_ms": {stage: round(spent_ms, 3) for stage, spent_ms in response.timings_ms.items()},
        **{name: getattr(response, name) for name in ("fallbacks", "answerable_probability", "unanswerable")},
        "need_results": [asdict(each) for each in response.need_results],
    }


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


def _read_k(text: str) -> tuple[int, bool]:
    """Parse the option ``-k``: the maximum number of tools, and whether it is ``auto``: ``10``, ``auto`` (20), ``auto:40``.

    :raises InvalidArgumentError: for another text.
    """
    word, _, most = text.partition(":")
    auto = word == "auto"
    try:
        return int((most or _MAX_AUTO_K) if auto else text), auto
    except ValueError:
        problem, remedy = f"{text!r} is no number of tools", "Write 10, auto or auto:40"
        raise InvalidArgumentError(problem, subject="-k", remedy=remedy) from None


def _read_filters(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Parse filters from ``KEY=VALUE`` texts; a repeated key allows one more value."""
    filters: dict[str, tuple[str, ...]] = {}
    for text in texts:
        for key, value in read_pairs([text], "--filter", "KEY").items():
            filters[key] = (*filters.get(key, ()), value)
    return filters


def read_pairs(texts: Sequence[str], option: str, name: str = "NAME") -> dict[str, str]:
    """Parse ``NAME=VALUE`` texts; of a repeated name the last one counts.

    :raises InvalidArgumentError: for a text in another format.
    """
    pairs = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key:
            remedy = f"Write {option} {name}=VALUE"
            raise InvalidArgumentError(f"{text!r} is not {name}=VALUE", subject=option, remedy=remedy)
        pairs[key] = value
    return pairs
