"""The offline pipeline: extract triples from tools, validate them, make them canonical, build the tool graph; with a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ingest.canonical.canonicalize import canonicalize, system_aliases
from ingest.extract.extractor import Extraction, Extractor, RejectedTriple
from ingest.extract.triple_validation import validate
from ingest.graph import TripleTable, build_graph
from ingest.linking.edges import Links, derive_links
from ingest.linking.shape_uses import read_for_links, shape_uses
from ingest.overlay.apply_overlay import NOTHING, Declarations
from ingest.phrases import Phrases, with_phrases
from ingest.tool_cache import Cached, ToolCache, json_codec
from ontology.files import code_digest
from ontology.ontology import Ontology
from ontology.reporting import Progress, no_progress, return_freed_memory, timed
from ontology.tool import CONTEXT_PARAMETERS, OVERLAY_ORIGINS, Tool
from ontology.tool_graph import ToolGraph
from ontology.value_shape import ShapeUse

_RULES = ("ingest.extract", "ontology")  # a changed rule or word list extracts again
_READ_BY_LINKS = ("ingest", "ontology")


@dataclass(frozen=True, kw_only=True)
class GraphBuild:
    """A tool graph and the report of its build."""

    graph: ToolGraph
    # the tools, each with its context parameters and the origins of its overlay rules in the metadata
    tools: Sequence[Tool] = ()
    # map from tool id to the names of its context parameters
    context_parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    value_shapes: Sequence[ShapeUse] = ()  # the parameters whose values have a shape, sorted
    # map from predicate to the number of accepted triples, before equal ones are merged
    kept: Counter[str] = field(default_factory=Counter)
    rejected: tuple[RejectedTriple, ...] = ()  # rejected triples, with their reasons
    # map from tool id to the reason why the extraction from its whole document failed
    failed: dict[str, str] = field(default_factory=dict)
    reused: int = 0  # number of extractions read from the cache
    seconds: dict[str, float] = field(default_factory=dict)  # map from stage to its duration in seconds


def build_tool_graph(
    tools: Sequence[Tool],
    ontology: Ontology,
    extractor: Extractor,
    *,
    cache: ToolCache | None = None,
    declared: Declarations = NOTHING,
    aliases: Mapping[str, Sequence[str]] = {},
    phrases: Mapping[str, Phrases] = {},
    progress: Progress = no_progress,
) -> GraphBuild:
    """Build the tool graph of a catalogue.

    :param cache: what was made of unchanged tools is taken from it.
    :param declared: what overlay files declare of these tools.
    :param aliases: map from namespace to other names of its system, which its owner gives.
    :param phrases: everyday phrases by tool id.
    :raises ModelError: when the extractor's model is unavailable; finished extractions stay in the cache.
    """
    cache = cache or ToolCache(None)
    seconds: dict[str, float] = {}
    rejected: list[RejectedTriple] = []
    failed: dict[str, str] = {}
    reused = 0

    def tables() -> Iterator[TripleTable]:
        nonlocal reused
        extractions = zip(tools, _extractions(tools, extractor, ontology, cache), strict=True)
        for number, (tool, (extraction, cached)) in enumerate(extractions, start=1):
            rejected.extend(extraction.rejected)
            reused += cached
            if extraction.error:
                failed[tool.id] = extraction.error
            progress("extract", number, len(tools))
            yield TripleTable.of(extraction.triples)

    with timed(seconds, "extract"):
        triples = TripleTable.joined(tables())
    with timed(seconds, "canonicalize"):
        canonical = canonicalize(triples, ontology)
        progress("canonicalize", len(canonical.triples), len(triples))
        del triples
        return_freed_memory()
    with timed(seconds, "link"):
        links, value_shapes = _linked(tools, ontology, declared, cache)
        return_freed_memory()
        graph = build_graph(
            tools,
            canonical.triples,
            canonical.surface_forms,
            derived=links.edges,
            aliases=system_aliases(tools, canonical.triples, aliases, abbreviations=ontology.abbreviations),
            origins=declared.dependencies,
        )
        progress("link", len(links.edges), len(links.edges))
        return_freed_memory()
    # Added after the extraction, so that a line that moves in an overlay, or another phrase, extracts nothing again.
    published = []
    for tool in tools:
        added: dict[str, Any] = {}
        if context := links.context.get(tool.id):
            added[CONTEXT_PARAMETERS] = list(context)
        if origins := declared.origins.get(tool.id):
            added[OVERLAY_ORIGINS] = dict(origins)
        added |= with_phrases(phrases.get(tool.id))
        published.append(replace(tool, metadata={**tool.metadata, **added}) if added else tool)
    return GraphBuild(
        graph=graph,
        tools=published,
        context_parameters=links.context,
        value_shapes=value_shapes,
        kept=canonical.triples.by_predicate(),
        rejected=(*rejected, *canonical.rejected),
        failed=failed,
        reused=reused,
        seconds=seconds,
    )


def _linked(
    tools: Sequence[Tool], ontology: Ontology, declared: Declarations, cache: ToolCache
) -> tuple[Links, Sequence[ShapeUse]]:
    """Return the links between the tools, and the shapes of their values; those of the last build where nothing changed that they depend on."""

    def make() -> tuple[Links, Sequence[ShapeUse]]:
        return derive_links(tools, ontology, declared.links), shape_uses(tools, ontology)

    def depends_on() -> Iterator[bytes]:
        code = code_digest(*_READ_BY_LINKS)
        yield f"{ontology.digest}\n{code}\n{declared.links!r}".encode()
        make_read = partial(map, read_for_links)
        read = cache.each("read-for-links.v1", code, tools, make_read, json_codec(str))
        yield from (each.value.encode() for each in read)

    return cache.last("links.v1", depends_on(), make, json_codec(tuple[Links, Sequence[ShapeUse]]))


def _extractions(
    tools: Sequence[Tool], extractor: Extractor, ontology: Ontology, cache: ToolCache
) -> Iterator[Cached[Extraction]]:
    """Yield one extraction for each tool, in order, with only its valid triples; the others are among the rejected ones."""

    def make(missing: Sequence[Tool]) -> Iterator[Extraction]:
        for tool, extraction in zip(missing, extractor.extract(missing), strict=True):
            checked = validate(tool, extraction.triples, ontology)
            rejected = (*extraction.rejected, *checked.rejected)
            yield replace(extraction, triples=TripleTable.of(checked.triples), rejected=rejected)

    depends_on = f"{extractor.fingerprint}\n{ontology.digest}\n{code_digest(*_RULES)}"
    # The next build tries a failed one again.
    return cache.each(
        "validated-extraction.v4", depends_on, tools, make, _ExtractionCodec(), keep=lambda each: not each.error
    )


class _ExtractionCodec:
    """The JSON of an extraction without its triples, and these in columns."""

    def dump_json(self, value: Extraction) -> bytes:
        rest: bytes = json_codec(Extraction).dump_json(replace(value, triples=()))
        return rest + b"\n" + TripleTable.of(value.triples).to_bytes()

    def validate_json(self, data: bytes) -> Extraction:
        rest, _, table = data.partition(b"\n")
        extraction: Extraction = json_codec(Extraction).validate_json(rest)
        return replace(extraction, triples=TripleTable.from_bytes(table))
