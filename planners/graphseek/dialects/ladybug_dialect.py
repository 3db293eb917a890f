"""The Cypher of Ladybug 0.22. What is chosen here for speed was measured on a graph of 230,000 nodes and 314,000 relationships."""

from __future__ import annotations

from collections.abc import Sequence

from ontology.errors import InvalidArgumentError
from planners.graphseek.dialects.cypher_text import CypherText, IdsOfTypes, Steps
from planners.stores.graph_schema import CypherDialect, GraphSchema, NodeType

__all__ = ["LadybugDialect"]

_MOST_SCANNED = 500
"""Ids that are compared with every node, where they have several labels: 100 of them take 0.2 s on 190,000 nodes."""


class LadybugDialect:
    """Ids are ``LABEL:KEY``: the primary key is the only index, and 100 times as fast as the engine's own ids."""

    name: CypherDialect = "ladybug"

    def node_id(self, text: CypherText, variable: str, types: Sequence[NodeType]) -> str:
        """See :class:`Dialect`. Labels of different keys are told apart."""
        keys = dict.fromkeys((each.mark.label, each.key) for each in types or text.schema.nodes)
        if len({label for label, _ in keys}) == 1:
            label, key = next(iter(keys))
            return f"concat({text.parameter(f'{label}:')}, {self.as_text(text.property(variable, key))})"
        if len({key for _, key in keys}) == 1:
            key = next(iter(keys))[1]
            return f"concat(label({variable}), ':', {self.as_text(text.property(variable, key))})"
        cases = " ".join(
            f"WHEN {text.parameter(label)} THEN {self.as_text(text.property(variable, key))}" for label, key in keys
        )
        return f"concat(label({variable}), ':', CASE label({variable}) {cases} END)"

    def identity(self, variable: str) -> str:
        """See :class:`Dialect`."""
        return f"id({variable})"

    def has_label(self, variable: str, label: str) -> str:
        """See :class:`Dialect`."""
        return f"label({variable}) = {label}"

    def relationship_type(self, variable: str) -> str:
        """See :class:`Dialect`."""
        return f"label({variable})"

    def as_text(self, expression: str) -> str:
        """See :class:`Dialect`."""
        return f"CAST({expression} AS STRING)"

    def total(self, expression: str) -> str:
        """See :class:`Dialect`."""
        return f"sum({expression})"

    def choose(self, text: CypherText, variable: str, type_: NodeType | None, ids: Sequence[str]) -> str:
        """See :class:`Dialect`. Ids of one label are looked up by the key; only OPTIONAL MATCH then starts from what was found."""
        types = [each for each in text.schema.nodes if type_ is None or each.mark.label == type_.mark.label]
        labels = {each.mark.label: each for each in types}
        found = {
            label: keys
            for label in labels
            if (keys := [each.removeprefix(f"{label}:") for each in ids if each.startswith(f"{label}:")])
        }
        if len(found) == 1:
            ((label, keys),) = found.items()
            key = labels[label].key
            values = tuple(int(each) if _is_integer(labels[label], key) else each for each in keys)
            text.add(f"UNWIND {text.parameter(values)} AS k0")
            text.add(f"MATCH ({variable}:{text.name(label)} {{{text.name(key)}: k0}})")
            text.where(text.of_type(variable, type_))
            return "OPTIONAL MATCH"
        if len(ids) > _MOST_SCANNED:
            problem = f"it has {len(ids):,} nodes of several types"
            raise InvalidArgumentError(problem, subject="the result", remedy="Name one of its types with the handle")
        text.add(f"MATCH {text.node(variable, (type_,) if type_ else ())}")
        text.where([*text.of_type(variable, type_), text.one_of_ids(variable, types, ids)])
        return "OPTIONAL MATCH"

    def parts_of_ids(self, schema: GraphSchema, ids: Sequence[str]) -> list[IdsOfTypes]:
        """See :class:`Dialect`. One part for each label."""
        parts = [
            IdsOfTypes(
                types=tuple(each for each in schema.nodes if each.mark.label == label),
                ids=tuple(each for each in ids if each.startswith(f"{label}:")),
            )
            for label in dict.fromkeys(each.mark.label for each in schema.nodes)
        ]
        return [part for part in parts if part.ids]

    def reach(self, steps: Steps) -> tuple[str, list[str], str]:
        """See :class:`Dialect`. SHORTEST is a search by breadth: it gives each pair once, and never the start itself."""
        held = f" (r0, x0 | WHERE {' AND '.join(steps.conditions)})" if steps.conditions else ""
        return steps.between(f"e0{steps.types}* SHORTEST 1..{steps.hops}{held}"), [], "length(e0)"

    def ways(
        self, text: CypherText, steps: Steps, begin: str, conditions: Sequence[str], *, shortest: bool
    ) -> tuple[str, str]:
        """See :class:`Dialect`."""
        kind = "ALL SHORTEST" if shortest else "TRAIL"
        text.add(f"{begin} q0 = {steps.between(f'e0{steps.types}* {kind} 1..{steps.hops}')}")
        text.where(conditions)
        return "q0", "length(e0)"


def _is_integer(type_: NodeType, key: str) -> bool:
    return any(each.name == key and each.type == "integer" for each in type_.properties)
