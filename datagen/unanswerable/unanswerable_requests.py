"""Unanswerable requests of three kinds, with the reason why no tool serves each."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SyntheticRequest
from datagen.unanswerable.document_words import DocumentWords
from datagen.unanswerable.missing_actions import missing_actions
from datagen.unanswerable.unserved_tasks import other_domains, small_talk

__all__ = ["UnanswerableRequest", "UnanswerableRequests", "make_unanswerable"]

_CLASS = "none"


@dataclass(frozen=True, kw_only=True)
class UnanswerableRequest:
    """One request that no tool serves.

    :param kind: ``missing-action``, ``other-domain`` or ``chit-chat``.
    :param reason: one sentence without a full stop.
    """

    id: str
    text: str
    kind: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return a row of labelled requests without tools."""
        return {
            "id": self.id,
            "query": self.text,
            "tools": [],
            "class": _CLASS,
            "kind": self.kind,
            "reason": self.reason,
            "generator": "rules.v1",
        }


@dataclass(frozen=True, kw_only=True)
class UnanswerableRequests:
    """The requests, and why there are no more.

    :param left_out: distinct reasons, one sentence each.
    :param absent: the kinds for which nothing was found, one sentence each.
    """

    requests: tuple[UnanswerableRequest, ...]
    left_out: tuple[str, ...]
    absent: tuple[str, ...] = ()


class _Kind(NamedTuple):
    name: str
    found: Sequence[tuple[str, str]]
    left_out: Sequence[str]


def make_unanswerable(
    catalogue: ProfiledCatalogue, requests: Sequence[SyntheticRequest], count: int, *, seed: int
) -> UnanswerableRequests:
    """Make at most ``count`` requests, of each kind the same number where there are enough. Deterministic.

    There are none where the documents cannot be read: nobody could say then that no tool serves a request.

    :param requests: requests that were made from the catalogue: the words for its objects are taken from them.
    """
    known, rng = DocumentWords(catalogue), random.Random(f"{seed}\nunanswerable")
    if known.unread:
        return UnanswerableRequests(requests=(), left_out=(known.unread,))
    kinds = [
        _Kind("missing-action", *missing_actions(catalogue, known, requests, rng)),
        _Kind("other-domain", *other_domains(known, rng)),
        _Kind("chit-chat", *small_talk(known, rng)),
    ]
    numbers: Counter[str] = Counter()
    made: dict[str, UnanswerableRequest] = {}
    for kind, text, reason in _in_turn(kinds):
        if len(made) == count:
            break
        if text not in made:
            numbers[kind] += 1
            made[text] = UnanswerableRequest(id=f"none-{kind}-{numbers[kind]:04}", text=text, kind=kind, reason=reason)
    left_out = dict.fromkeys(reason for kind in kinds for reason in kind.left_out)
    absent = tuple(f"no request is of the kind {kind.name}{_why(kind.left_out)}" for kind in kinds if not kind.found)
    return UnanswerableRequests(requests=tuple(made.values()), left_out=tuple(left_out), absent=absent)


def _why(left_out: Sequence[str]) -> str:
    more = f"; {len(left_out) - 1} more" if len(left_out) > 1 else ""
    return f" ({left_out[0]}{more})" if left_out else ""


def _in_turn(kinds: Sequence[_Kind]) -> Iterator[tuple[str, str, str]]:
    """One request of each kind after the other, until all are used up."""
    waiting: Mapping[str, Iterator[tuple[str, str]]] = {kind.name: iter(kind.found) for kind in kinds}
    while waiting:
        taken = {name: next(found, None) for name, found in waiting.items()}
        yield from ((name, *one) for name, one in taken.items() if one is not None)
        waiting = {name: waiting[name] for name, one in taken.items() if one is not None}
