"""The synthetic request: a text, the tools that it needs, and the verdicts on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from datagen.tool_path import PathEdge, ToolPath

__all__ = ["CLASSES", "DEPENDENT_CLASSES", "RejectedRequest", "SampleValue", "SyntheticRequest", "Verdict"]

CLASSES = (
    "single-intent",
    "multi-intent",
    "explicit-multi-step",
    "implicit-multi-step",
    "conditional-multi-step",
    "ir-multi-intent",
)
"""The six classes of the paper's section 4.1: one request without steps; independent requests in any order; dependent
steps, the dependence stated; dependent steps, the dependence to be inferred; an action under a stated condition; a
question of general knowledge beside a personal action."""
DEPENDENT_CLASSES = frozenset(("explicit-multi-step", "implicit-multi-step", "conditional-multi-step"))
"""Classes whose tools depend on each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleValue:
    """A value that a request states for an input.

    :param value: exactly as in the request (``last quarter``, ``over $1M``).
    """

    tool: str
    parameter: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of one check.

    :param check: ``class``, ``sequence`` or ``error``; ``parts`` for a long task.
    :param reason: one sentence without a full stop, also for a passed check.
    :param by: versioned name of the validator, ``rules.v1``.
    """

    check: str
    passed: bool
    reason: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticRequest:
    """One labelled request.

    :param id: unique in its set.
    :param request_class: one of :data:`CLASSES`.
    :param values: the values that the request states for inputs; at least one, unless no tool of the path has an input.
    :param generator: versioned name of its generator; ``hand`` for a request that was written without a generator.
    """

    id: str
    text: str
    request_class: str
    path: ToolPath
    values: tuple[SampleValue, ...] = ()
    generator: str = ""
    verdicts: tuple[Verdict, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: a row of ``queries.jsonl``.

        ``tools`` has an entry for each tool of the path, in their order: its id, or a list of it and of the tools that would
        do equally.
        """
        return {
            "id": self.id,
            "query": self.text,
            "tools": [slot[0] if len(slot) == 1 else list(slot) for slot in self.path.slots],
            "class": self.request_class,
            "path_id": self.path.id,
            "shape": self.path.shape,
            "edges": [asdict(edge) for edge in self.path.edges],
            "values": [asdict(value) for value in self.values],
            "generator": self.generator,
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> SyntheticRequest:
        """Return the request for a JSON form; only id, query, tools and class are required."""
        slots = [(slot,) if isinstance(slot, str) else tuple(slot) for slot in row["tools"]]
        alternatives = tuple(slot[1:] for slot in slots)
        path = ToolPath(
            tools=tuple(slot[0] for slot in slots),
            edges=tuple(PathEdge(**edge) for edge in row.get("edges", ())),
            shape=row.get("shape", "single" if len(slots) == 1 else "chain"),
            alternatives=alternatives if any(alternatives) else (),
        )
        return cls(
            id=row["id"],
            text=row["query"],
            request_class=row["class"],
            path=path,
            values=tuple(SampleValue(**value) for value in row.get("values", ())),
            generator=row.get("generator", ""),
            verdicts=tuple(Verdict(**verdict) for verdict in row.get("verdicts", ())),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedRequest:
    """A rejection: a row of ``rejected.jsonl``.

    :param stage: ``outputs``, ``path``, ``sequence``, ``generate``, ``validate`` or ``diversity``.
    :param subject: its tools, in their order.
    :param reason: one sentence without a full stop.
    :param text: the generated text, if there is one.
    """

    stage: str
    subject: tuple[str, ...]
    reason: str
    request_class: str = ""
    text: str = ""

    @property
    def is_final(self) -> bool:
        """Whether the generator has no text for the path whatever the seed."""
        return self.stage == "generate" and not self.text
