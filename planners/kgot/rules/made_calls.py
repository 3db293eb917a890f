"""The calls of a run as its graph has them: what was called with what, and what it gave."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planners.finding.typed_binding import Binding
from planners.graphs.property_graph import GraphNode, Scalar
from planners.kgot.kgot_task import MadeCall
from planners.kgot.rules.graph_facts import GraphFacts, compare
from planners.kgot.rules.shape_names import GAVE, property_name

__all__ = ["CallLog", "arguments_text"]


_NOT_FOUND = re.compile(r"\b404\b|NOT_FOUND", re.IGNORECASE)
"""Of a status: the thing that was asked for does not exist, which is an answer (who leads the company has no manager)."""


def arguments_text(arguments: Mapping[str, object]) -> str:
    """Return arguments in their one spelling."""
    return json.dumps(dict(arguments), sort_keys=True, ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True)
class CallLog:
    """The calls that a run has made, and why some failed."""

    facts: GraphFacts
    made: frozenset[tuple[str, str]]
    failed: Mapping[tuple[str, str], str]

    @classmethod
    def of(cls, facts: GraphFacts, calls: Sequence[MadeCall]) -> CallLog:
        """Take the calls of a run; those that failed are in no graph."""
        made = frozenset((each.tool_id, arguments_text(each.arguments)) for each in calls)
        failed = {
            (each.tool_id, arguments_text(each.arguments)): each.status
            for each in calls
            if not each.ok and not _NOT_FOUND.search(each.status)
        }
        return cls(facts, made, failed)

    def fault(self, tool_id: str, arguments: Mapping[str, object]) -> str:
        """Return how a call failed; empty of one that was answered, if only by that there is no such thing."""
        return self.failed.get((tool_id, arguments_text(arguments)), "")

    @staticmethod
    def property(argument: str) -> str:
        """Return the property of a call for an argument."""
        return f"arg_{property_name(argument)}"

    @staticmethod
    def arguments_of_lookup(binding: Binding, values: Mapping[str, str]) -> dict[str, object]:
        """Return the arguments that find things by fields, as far as the tool takes these; what it demands finds everything."""
        arguments: dict[str, object] = dict(binding.every)
        for field, value in values.items():
            if field in binding.fields:
                arguments[binding.fields[field]] = value
        return arguments

    @staticmethod
    def arguments_of_value(binding: Binding, value: str) -> dict[str, object]:
        """Return the arguments that find what is joined to a thing."""
        taken: object = [value] if binding.is_list else value
        return {**binding.every, **({binding.takes: taken} if binding.takes else {})}

    def was_called(self, tool_id: str, arguments: Mapping[str, object]) -> bool:
        """Whether a tool was called with just these arguments, with an answer or without."""
        return (tool_id, arguments_text(arguments)) in self.made

    def given(self, tool_id: str, arguments: Mapping[str, object]) -> list[GraphNode]:
        """Return what a call gave."""
        text = arguments_text(arguments)
        calls = [node for node in self.facts.calls(tool_id) if node.properties.get("arguments") == text]
        return [each for call in calls for each in self.facts.after(call, GAVE)]

    def gave(self, tool_id: str, argument: str, value: Scalar, node: GraphNode) -> bool:
        """Whether a call of a tool with this argument gave a thing; any call where no argument is named."""
        return any(
            call.properties.get("tool") == tool_id and (not argument or compare(_scalar(call, argument), "=", value))
            for call in self.facts.before(node, GAVE)
        )


def _scalar(call: GraphNode, argument: str) -> Scalar:
    value = call.properties.get(argument, "")
    return value if not isinstance(value, tuple) else json.dumps(value)
