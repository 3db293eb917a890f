"""What was made of single tools, kept between builds by the hash of the tool and of whatever else it depends on.

A build makes for each tool what depends on that tool alone: its triples, its findings, its terms. What one of them is made of must be named
in full by its key, or a build from the cache differs from a build from nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import starmap
from typing import Any, Generic, NamedTuple, TypeVar

from inference.result_cache import ResultCache
from ontology.tool import Tool

_PUBLISHED = "published-tools.v1"
_NO_FIELDS: dict[str, Any] = {"parameters": (), "returns": (), "input_schema": None, "output_schema": None}
_T = TypeVar("_T")


class Cached(NamedTuple, Generic[_T]):
    """The value of a tool, and whether it was read from the cache."""

    value: _T
    reused: bool


class Digests:
    """The SHA-256 of tools, each made once: equal tools have equal digests. Names and metadata are added to a tool after it
    is read; its fields and schemas, which are most of it, stay the same objects and have a digest of their own."""

    def __init__(self) -> None:
        # With the parts, so that no other object gets the id of one.
        self._known: dict[tuple[int, ...], tuple[tuple[Any, ...], bytes]] = {}

    def of(self, tool: Tool) -> bytes:
        """Return the digest of a tool."""
        return self._once((tool,), lambda: _digest(replace(tool, **_NO_FIELDS), self.of_fields(tool)))

    def of_fields(self, tool: Tool, known: bytes | None = None) -> bytes:
        """Return the digest of inputs, outputs and schemas of a tool; ``known`` is one that was kept with it."""
        fields = {name: getattr(tool, name) for name in _NO_FIELDS}
        return self._once(tuple(fields.values()), lambda: known or _digest(Tool(id="", name="", **fields)))

    def _once(self, parts: tuple[Any, ...], make: Callable[[], bytes]) -> bytes:
        key = tuple(map(id, parts))
        if key not in self._known:
            self._known[key] = parts, make()
        return self._known[key][1]


class ToolCache:
    """Values of tools by kind.

    :param results: where they are kept; None to keep none.
    :param digests: those that are known.
    """

    def __init__(self, results: ResultCache | None, digests: Digests | None = None) -> None:
        self._results = results
        self.digest = (digests or Digests()).of

    def published(self, snapshot_id: str, tools: Iterable[Tool]) -> None:
        """Note of which tools, as they were read, the last snapshot is made."""
        if self._results is not None:
            digests = {tool.id: self.digest(tool).hex() for tool in tools}
            self._results.put(_PUBLISHED, "last", json.dumps([snapshot_id, digests]).encode("utf-8", "surrogatepass"))

    def unchanged(self, snapshot_id: str, tools: Iterable[Tool]) -> dict[str, Tool]:
        """Return the tools, by id, that are as they were when a snapshot was made; none where that is not the last one."""
        stored = self._results.get(_PUBLISHED, "last") if self._results is not None else None
        try:
            known_id, known = json_codec(tuple[str, dict[str, str]]).validate_json(stored or b'["", {}]')
        except ValueError:
            return {}
        wanted = known if known_id == snapshot_id else {}
        return {tool.id: tool for tool in tools if wanted.get(tool.id) == self.digest(tool).hex()}

    def last(self, kind: str, depends_on: Iterable[bytes], make: Callable[[], _T], codec: Any) -> _T:
        """Return a value of the whole catalogue, of which only the last one is kept.

        :param depends_on: the parts of all that it depends on; read only where anything is kept.
        :param make: makes the value where the last one was made of something else.
        :param codec: has ``dump_json`` and ``validate_json`` of the value, as :func:`json_codec` has.
        """
        if self._results is None:
            return make()
        hashed = hashlib.sha256()
        for part in depends_on:
            hashed.update(part)
        digest, known = hashed.digest(), self._results.get(kind, "last")
        if known is not None and known.startswith(digest):
            with contextlib.suppress(ValueError):  # its value is made again
                kept: _T = codec.validate_json(known[len(digest) :])
                return kept
        value = make()
        self._results.put(kind, "last", digest + codec.dump_json(value))
        return value

    def each(
        self,
        kind: str,
        depends_on: str,
        tools: Sequence[Tool],
        make: Callable[[Sequence[Tool]], Iterable[_T]],
        codec: Any,
        *,
        keep: Callable[[_T], bool] = lambda _: True,
    ) -> Iterator[Cached[_T]]:
        """Yield the value of each tool, in order.

        :param depends_on: all that a value depends on beside its tool: code, models, settings.
        :param make: makes the values of tools, in order; it is asked for those that are not kept.
        :param codec: as for :meth:`last`, of a value.
        :param keep: whether the next build may take a value from the cache.
        """
        results = self._results
        if results is None:
            yield from (Cached(value, False) for value in make(tools))
            return
        start = hashlib.sha256(depends_on.encode()).digest()
        keys = [hashlib.sha256(start + self.digest(tool)).hexdigest() for tool in tools]
        tool_of = dict(zip(keys, tools, strict=True))
        found = results.each(
            kind,
            keys,
            lambda missing: make([tool_of[key] for key in missing]),
            encode=lambda value: codec.dump_json(value) if keep(value) else None,
            decode=codec.validate_json,
        )
        yield from starmap(Cached, found)


@cache
def json_codec(type_: Any) -> Any:
    """Return the encoder and decoder of the JSON form of a type."""
    from pydantic import TypeAdapter

    return TypeAdapter(type_)


def _digest(tool: Tool, *others: bytes) -> bytes:
    return hashlib.sha256(b"".join((tool.canonical_json().encode("utf-8", "surrogatepass"), *others))).digest()
