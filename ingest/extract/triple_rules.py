"""The paper's rules for triples, for all extractors.

Every extractor passes its triples through :func:`apply_triple_rules`. After it, each entity has a ``has_entity`` triple from its
tool, no triple is repeated, no triple has the same head and tail, the tool is only the head of ``has_*``, ``returns`` and
``depends_on`` triples, and confidence and provenance are valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache

from ingest.extract.extractor import Extraction, Fault, partition
from ingest.extract.vocabulary import ACTIONS, ALSO_NOUNS
from ontology.names import canonical_name, words
from ontology.ontology import Ontology
from ontology.tool import Tool
from ontology.triple import Triple

__all__ = ["apply_triple_rules"]

_TOOL = "tool"
_PARAMETER = "parameter"
_Canonical = Callable[[str, str], str]
_Key = tuple[str, str, str, str, str]


def apply_triple_rules(tool: Tool, triples: Iterable[Triple], ontology: Ontology) -> Extraction:
    """Apply the paper's rules to the triples of one tool's document.

    A triple that violates a rule goes to ``Extraction.rejected`` with one of the reasons ``empty-name``,
    ``confidence-range``, ``foreign-provenance``, ``tool-misplaced`` and ``self-loop``. Of equal triples the one with the
    highest confidence is kept, at the position of the first; the others are not counted as rejected.

    :param triples: raw triples in document order; the tool may be named by its id, name or title.
    """
    canonical = _canonical(ontology)
    titles = frozenset(canonical(text, "") for text in (tool.id, tool.name, tool.title)) - {""}
    with_ids = (_with_tool_id(triple, tool, titles) for triple in triples)
    checked = partition(with_ids, lambda triple: _fault(triple, tool, titles, canonical))
    unique = _most_confident(checked.kept, canonical)
    named = _most_confident([*unique, *_has_entity(tool, unique, ontology, canonical)], canonical)
    return Extraction(tool_id=tool.id, triples=tuple(named), rejected=tuple(checked.rejected))


def _canonical(ontology: Ontology) -> _Canonical:
    """Return a cached function from name and type to canonical name, for one tool."""

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


def _with_tool_id(triple: Triple, tool: Tool, titles: frozenset[str]) -> Triple:
    """Return the triple with the tool's id as its head when the head is the tool's name or title."""
    if triple.head_type == _TOOL and triple.head != tool.id and canonical_name(triple.head) in titles:
        return replace(triple, head=tool.id)
    return triple


def _fault(triple: Triple, tool: Tool, titles: frozenset[str], canonical: _Canonical) -> Fault | None:
    key = _key(triple, canonical)
    head, tail = key[1], key[4]
    if not head or not tail:
        return Fault("empty-name", "one end has no letter or digit")
    if not 0.0 <= triple.confidence <= 1.0:
        return Fault("confidence-range", f"the confidence {triple.confidence} is not between 0 and 1")
    if triple.provenance.tool_id != tool.id or not triple.provenance.extractor or not triple.provenance.field:
        return Fault("foreign-provenance", "the provenance does not name this tool, a field of it and an extractor")
    if misplaced := _misplaced(triple, tool, titles, (head, tail)):
        return Fault("tool-misplaced", misplaced)
    if head == tail and (
        triple.head_type == triple.tail_type or _PARAMETER not in (triple.head_type, triple.tail_type)
    ):
        # The parameter `city` that refers to the business object "city" is no loop: they are two nodes.
        return Fault("self-loop", f"head and tail are both {head!r}")
    return None


def _misplaced(triple: Triple, tool: Tool, titles: frozenset[str], ends: tuple[str, str]) -> str:
    """Return why a tool must not be at this end of the triple, or empty."""
    tool_heads = triple.predicate.startswith("has_") or triple.predicate in ("returns", "depends_on")
    if triple.head_type == _TOOL and (triple.head != tool.id or not tool_heads):
        return "a tool heads only its own has_*, returns and depends_on triples"
    if triple.tail_type == _TOOL and not (triple.predicate == "depends_on" and triple.head_type == _TOOL):
        return "a tool is a tail only of another tool's depends_on"
    for name, kind in zip(ends, (triple.head_type, triple.tail_type), strict=True):
        # "Purchase Order" may be a tool and an object; "Send Reminder" is an action, so it is a capability.
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
    """Yield the missing has_entity triples: of entities that no other has_* triple connects to the tool."""
    connected = {_key(t, canonical)[3:] for t in triples if t.head_type == _TOOL}
    for triple in triples:
        template = replace(triple, head=tool.id, head_type=_TOOL, predicate="has_entity", phrase="")
        for name, kind in ((triple.head, triple.head_type), (triple.tail, triple.tail_type)):
            is_entity = ontology.allows(_TOOL, "has_entity", kind)
            if is_entity and (kind, canonical(name, kind)) not in connected:
                yield replace(template, tail=name, tail_type=kind)
