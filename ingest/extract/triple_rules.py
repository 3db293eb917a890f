"""The paper's rules for triples, in one place for every extractor.

Whatever an extractor read out of a tool's document goes through :func:`finish`: every named entity gets a ``has_entity``
triple from its tool, no assertion is made twice, no name points at itself, the tool itself only heads ``has_*``,
``returns`` and ``depends_on`` triples, and confidence and provenance are sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache

from ingest.extract.extractor import Extraction, RejectedTriple
from ingest.extract.word_lists import ACTIONS, ALSO_NOUNS
from ontology.names import canonical_name, words
from ontology.ontology import Ontology
from ontology.tool import Tool
from ontology.triple import Triple

__all__ = ["canonical_key", "finish", "named_ends"]

_TOOL = "tool"
_PARAMETER = "parameter"
_Canonical = Callable[[str, str], str]
_Key = tuple[str, str, str, str, str]


def finish(tool: Tool, triples: Iterable[Triple], ontology: Ontology) -> Extraction:
    """Apply the paper's rules to what was read out of one tool's document.

    A triple that breaks a rule goes to ``Extraction.rejected`` with one of the reasons ``empty-name``,
    ``confidence-range``, ``foreign-provenance``, ``tool-misplaced`` and ``self-loop``. Of several triples that say the
    same the most confident stays, at the place of the first; the others are no fault and leave no trace.

    :param triples: raw triples in reading order; the tool may stand in them by its id, name or title.
    """
    kept: list[Triple] = []
    rejected: list[RejectedTriple] = []
    canonical = _canonical(ontology)
    titles = frozenset(canonical(text, "") for text in (tool.id, tool.name, tool.title)) - {""}
    for triple in triples:
        placed = _by_id(triple, tool, titles)
        fault = _fault(placed, tool, titles, canonical)
        if fault is None:
            kept.append(placed)
        else:
            rejected.append(RejectedTriple(triple=placed, reason=fault[0], detail=fault[1]))
    unique = _most_confident(kept, canonical)
    named = _most_confident([*unique, *_has_entity(tool, unique, ontology, canonical)], canonical)
    return Extraction(tool_id=tool.id, triples=tuple(named), rejected=tuple(rejected))


def canonical_key(triple: Triple, ontology: Ontology) -> tuple[str, str, str, str, str]:
    """``Triple.key`` with canonical names; tools keep their ids."""
    return _key(triple, _canonical(ontology))


def named_ends(triple: Triple, ontology: Ontology) -> Iterator[tuple[str, str]]:
    """``(name, type)`` of the ends that are entities a tool can have: neither tools nor parameters."""
    for name, kind in ((triple.head, triple.head_type), (triple.tail, triple.tail_type)):
        if ontology.allows(_TOOL, "has_entity", kind):
            yield name, kind


def _canonical(ontology: Ontology) -> _Canonical:
    """Name and type → canonical name, remembered for as long as one tool is finished."""

    @cache
    def canonical(name: str, kind: str) -> str:
        return name if kind == _TOOL else canonical_name(name, ontology.abbreviations)

    return canonical


def _key(triple: Triple, canonical: _Canonical) -> _Key:
    return (
        triple.head_type,
        canonical(triple.head, triple.head_type),
        triple.predicate,
        triple.tail_type,
        canonical(triple.tail, triple.tail_type),
    )


def _by_id(triple: Triple, tool: Tool, titles: frozenset[str]) -> Triple:
    """The same triple with the tool under its id where it was written by name or title."""
    if triple.head_type == _TOOL and triple.head != tool.id and canonical_name(triple.head) in titles:
        return replace(triple, head=tool.id)
    return triple


def _fault(triple: Triple, tool: Tool, titles: frozenset[str], canonical: _Canonical) -> tuple[str, str] | None:
    key = _key(triple, canonical)
    head, tail = key[1], key[4]
    if not head or not tail:
        return "empty-name", "one end has no letter or digit"
    if not 0.0 <= triple.confidence <= 1.0:
        return "confidence-range", f"the confidence {triple.confidence} is not between 0 and 1"
    if triple.provenance.tool_id != tool.id or not triple.provenance.extractor or not triple.provenance.field:
        return "foreign-provenance", "the provenance does not name this tool, a field of it and an extractor"
    if misplaced := _misplaced(triple, tool, titles, (head, tail)):
        return "tool-misplaced", misplaced
    if head == tail and (
        triple.head_type == triple.tail_type or _PARAMETER not in (triple.head_type, triple.tail_type)
    ):
        # A parameter `city` that refers to the business object "city" is no loop: they are two nodes.
        return "self-loop", f"head and tail are both {head!r}"
    return None


def _misplaced(triple: Triple, tool: Tool, titles: frozenset[str], ends: tuple[str, str]) -> str:
    """What is wrong about the place of a tool in the triple, or empty."""
    tool_heads = triple.predicate.startswith("has_") or triple.predicate in ("returns", "depends_on")
    if triple.head_type == _TOOL and (triple.head != tool.id or not tool_heads):
        return "a tool heads only its own has_*, returns and depends_on triples"
    if triple.tail_type == _TOOL and not (triple.predicate == "depends_on" and triple.head_type == _TOOL):
        return "a tool is a tail only of another tool's depends_on"
    for name, kind in zip(ends, (triple.head_type, triple.tail_type), strict=True):
        # "Purchase Order" may name a tool and a thing; "Send Reminder" names what a tool does, so it is a capability.
        if kind not in (_TOOL, _PARAMETER, "capability", "value") and name in titles and _is_action(name):
            return f"{name!r} is the tool itself, not an entity"
    return ""


def _is_action(name: str) -> bool:
    tokens = words(name)
    return len(tokens) > 1 and tokens[0] in ACTIONS and tokens[0] not in ALSO_NOUNS


def _most_confident(triples: Iterable[Triple], canonical: _Canonical) -> list[Triple]:
    best: dict[_Key, Triple] = {}
    for triple in triples:
        key = _key(triple, canonical)
        if key not in best or triple.confidence > best[key].confidence:
            best[key] = triple
    return list(best.values())


def _has_entity(tool: Tool, triples: Iterable[Triple], ontology: Ontology, canonical: _Canonical) -> Iterator[Triple]:
    """The has_entity triples that are due; what another has_* triple already ties to the tool needs none."""
    tied = {_key(t, canonical)[3:] for t in triples if t.head_type == _TOOL}
    for triple in triples:
        for name, kind in named_ends(triple, ontology):
            if (kind, canonical(name, kind)) not in tied:
                yield replace(
                    triple,
                    head=tool.id,
                    head_type=_TOOL,
                    predicate="has_entity",
                    tail=name,
                    tail_type=kind,
                    phrase="",
                )
