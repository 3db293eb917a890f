"""The policy of an operator: which calls are made, which are asked about, and which are refused.

A file in YAML; a tool that matches a pattern of ``exclude`` is refused, else the first rule that matches it decides::

    exclude: {namespace: [legacy], tool: ["*/delete*"]}
    rules:
      - {namespace: finance, effect: [idempotent, change], decision: deny}
      - {tool: "hr/approve*", decision: ask}
      - {tool: "hr/*", decision: allow}

``tool`` and ``namespace`` are compared with ``*`` and ``?``; a list names alternatives; a key that is left out matches every tool.
Where no rule matches, a tool that only reads is called, and any other is asked about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import yaml

from egotools import RankedTool, Tool
from ingest.sources.yaml_nodes import YamlNodes, compose_file
from ontology.errors import InvalidArgumentError
from ontology.ontology_file import Fault
from ontology.tool_effects import Effect

__all__ = ["CallPolicy", "CallRule", "Decision", "read_policy"]

Decision: TypeAlias = Literal["allow", "ask", "deny"]
_EXCLUDED = ("tool", "namespace", "effect")
_KEYS = frozenset({*_EXCLUDED, "decision"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRule:
    """A rule; what is empty matches every tool.

    :param tools: patterns of ids.
    :param namespaces: patterns.
    """

    decision: Decision
    tools: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()

    def matches(self, tool: Tool | RankedTool) -> bool:
        """Whether the rule is one for the tool."""
        return (
            _is_any(tool.id, self.tools)
            and _is_any(tool.namespace, self.namespaces)
            and (not self.effects or (tool.effect or "change") in self.effects)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """What may be called.

    :param rules: the first that matches decides.
    :param confirmed: whether calls that no rule names are confirmed already (``--yes``). A rule that says ``ask`` is asked all the
        same: a mode does not answer it.
    """

    rules: tuple[CallRule, ...] = ()
    confirmed: bool = False

    def decision(self, tool: Tool | RankedTool) -> Decision:
        """Decide about the calls of a tool."""
        rule = next((rule for rule in self.rules if rule.matches(tool)), None)
        if rule is not None:
            return rule.decision
        return "allow" if self.confirmed or tool.effect == "read" else "ask"


def read_policy(path: Path, *, confirmed: bool = False) -> CallPolicy:
    """Read the file of a policy.

    :raises InvalidArgumentError: when it has faults; each is said with its line.
    """
    nodes = YamlNodes()
    root = compose_file(path)
    if isinstance(root, Fault):
        nodes.faults.append(root)
        rules: tuple[CallRule, ...] = ()
    else:
        parts = nodes.mapping(root, "the policy", frozenset({"rules", "exclude"}))
        if not parts and not nodes.faults:
            nodes.fault(root, "the policy has no rules", "write `rules:`")
        excluded = nodes.mapping(parts["exclude"], "exclude", frozenset(_EXCLUDED)) if "exclude" in parts else {}
        refused = (_matcher(nodes, {key: value}, "deny") for key, value in excluded.items())
        rules = (*refused, *(_rule(nodes, node) for node in nodes.items(parts.get("rules"), "rules")))
    if nodes.faults:
        listed_faults = "; ".join(map(str, nodes.faults))
        raise InvalidArgumentError(
            f"the policy has faults: {listed_faults}", subject=str(path), remedy="Correct these lines"
        )
    return CallPolicy(rules=rules, confirmed=confirmed)


def _rule(nodes: YamlNodes, node: yaml.Node) -> CallRule:
    values = nodes.mapping(node, "a rule", _KEYS)
    decision: Any = nodes.text(values.get("decision"), "decision")
    if decision not in get_args(Decision) and isinstance(node, yaml.MappingNode):
        place = values.get("decision", node)
        nodes.fault(place, f"decision is {decision!r}", f"write one of {', '.join(get_args(Decision))}")
    return _matcher(nodes, values, decision)


def _matcher(nodes: YamlNodes, values: Mapping[str, Any], decision: Decision) -> CallRule:
    """Return the rule for the tools that match patterns of every key."""
    effects = _texts(nodes, values.get("effect"), "effect")
    if wrong := [each for each in effects if each not in get_args(Effect)]:
        nodes.fault(values["effect"], f"there is no effect {wrong[0]!r}", f"known: {', '.join(get_args(Effect))}")
    return CallRule(
        decision=decision,
        tools=_texts(nodes, values.get("tool"), "tool"),
        namespaces=_texts(nodes, values.get("namespace"), "namespace"),
        effects=effects,
    )


def _texts(nodes: YamlNodes, node: Any, what: str) -> tuple[str, ...]:
    """Return one text or a list of them. An empty list is a fault: it would match every tool."""
    if node is None:
        return ()
    if isinstance(node, yaml.ScalarNode):
        return (nodes.text(node, what),)
    found = nodes.texts(node, what)
    if not found and not nodes.faults:
        nodes.fault(node, f"{what} is empty", "write a text, or leave the key out")
    return found


def _is_any(text: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(text, pattern) for pattern in patterns)
