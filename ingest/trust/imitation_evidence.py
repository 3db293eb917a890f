"""What one tool says that makes it an imitation of another: claims, fewer safeguards, data or secrets that go elsewhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from ingest.trust.folded_text import fold
from ingest.trust.instructions import signals_in
from ingest.trust.named_hosts import addresses_in, is_documentation
from ingest.trust.signals import SIGNALS
from ingest.trust.wording import whole_words
from ingest.word_lists import word_list
from ontology.names import words
from ontology.tool import Tool

__all__ = ["imitation_evidence", "imitation_weight", "is_imitation", "space_of"]

_CLAIM = whole_words("claims")
_WEIGHTS = {
    "same words": 0.3,
    "one letter apart": 0.45,
    "related namespace": 0.35,
    "a copied description": 0.3,
    "same title": 0.3,
    "the same inputs": 0.2,
    "only separators differ": 0.45,
    "misspelled": 0.55,
}


def space_of(tool: Tool) -> str:
    """The namespace of a tool, else the first part of its id."""
    return tool.namespace or tool.id.rpartition("/")[0]


_RISKY = {
    "safeguard": 0.5,
    "authority": 0.3,
    "data-out": 0.45,
    "secret": 0.2,
    "addressed": 0.5,
    "secrecy": 0.5,
    "other-tools": 0.5,
    "tool-choice": 0.5,
    "tool-defect": 0.5,
    "opened": 0.5,
    "guard-voided": 0.5,
    "others-data": 0.5,
    "rivals": 0.4,
}
_TAKES = whole_words("handed_over")


def imitation_evidence(tool: Tool, other: Tool) -> Iterator[str]:
    """What a tool says of another: claims to be it or its successor, fewer safeguards, data to others, secrets that the other does not take."""
    text = fold(tool.description[:4000]).text
    names = (other.name.lower(), space_of(other).lower())
    mentions = any(len(name) > 2 and re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", text) for name in names)
    claim = _CLAIM.search(text)
    if claim is not None and (
        mentions
        or claim[0]
        in {"official", "verified", "predecessor", "successor", "by the same team", "build of", "community version"}
    ):
        yield "a claim to be it"
    if set(_words(space_of(tool))) & _BOASTS and not set(_words(space_of(other))) & _BOASTS:
        yield "a claim in its namespace"
    own, theirs = (
        {SIGNALS[at].name for part in signals_in(fold(each.description[:4000]).text) for at in part.signals}
        for each in (tool, other)
    )
    yield from (f"{name} in its text" for name in sorted(own - theirs) if name in _RISKY)
    hosts, others = (
        {address.host for address in addresses_in(each.description[:4000]) if not is_documentation(address.host)}
        for each in (tool, other)
    )
    if hosts - others or (_TAKES.search(text) and not _TAKES.search(other.description.lower())):
        yield "data or rights handed to others"
    if _secret_inputs(tool) - _secret_inputs(other):
        yield "a secret among its inputs"


_BOASTS = word_list("trust", "boasts")


def _words(space: str) -> list[str]:
    return [word.lower() for word in words(space)]


def _secret_inputs(tool: Tool) -> set[str]:
    return {
        parameter.name
        for parameter in tool.parameters
        if re.search(
            r"password|secret|token|session_id|card|cvc|pin$|otp|credential|private_key|api_key",
            parameter.name.lower() + " " + parameter.description[:80].lower(),
        )
    }


def imitation_weight(reasons: Iterable[str]) -> float:
    """How much reasons weigh together; 1 is enough."""
    return sum(
        _WEIGHTS.get(reason, _EVIDENCE.get(reason, _RISKY.get(reason.removesuffix(" in its text"), 0.0)))
        for reason in reasons
    )


# Without one of these two tools only have a common name.
_KIN = frozenset(
    (
        "related namespace",
        "a claim to be it",
        "a claim in its namespace",
        "a copied description",
        "one letter apart",
        "only separators differ",
        "misspelled",
    )
)
_EVIDENCE: Mapping[str, float] = {
    "a claim to be it": 0.5,
    "data or rights handed to others": 0.45,
    "a secret among its inputs": 0.35,
    "a sentence more": 0.25,
}


def is_imitation(reasons: Collection[str]) -> bool:
    """Whether reasons weigh enough, and one of them says that the two tools are more than namesakes."""
    return imitation_weight(reasons) >= 1 - 1e-9 and not _KIN.isdisjoint(reasons)
