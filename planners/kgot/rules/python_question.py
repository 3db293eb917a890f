"""A resolved question as Python over a NetworkX graph, for the store that is asked so."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from planners.kgot.rules.resolved_question import Condition, ResolvedQuestion
from planners.kgot.rules.shape_names import CALL, GAVE

__all__ = ["python_of"]

_PROGRAM = """\
question = {question}


def text(value):
    return value.lower() if isinstance(value, str) else value


def compared(value, operator, wanted):
    if value is None or isinstance(value, str) != isinstance(wanted, str):
        return False
    one, other = text(value), text(wanted)
    if operator == "contains":
        return other in one
    return {{"=": one == other, "<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}}[operator]


def calls_that_gave(node):
    for source, _, edge in G.in_edges(node, data=True):
        if edge["type"] == "{gave}" and G.nodes[source]["label"] == "{call}":
            yield G.nodes[source]


def holds(condition, things):
    kind = condition["kind"]
    if kind == "PropertyCondition":
        value = G.nodes[things[condition["variable"]]].get(condition["property"])
        return compared(value, condition["operator"], condition["value"])
    if kind == "ReferenceJoin":
        edges = G.get_edge_data(things[condition["source"]], things[condition["target"]]) or {{}}
        return any(edge["type"] == condition["type"] for edge in edges.values())
    given = condition["given"] if kind == "CallJoin" else condition["variable"]
    wanted = G.nodes[things[condition["known"]]].get(condition["identifier"]) if kind == "CallJoin" else condition["value"]
    return any(
        call["tool"] == condition["tool"]
        and (not condition["argument"] or compared(call.get(condition["argument"]), "=", wanted))
        for call in calls_that_gave(things[given])
    )


def names(condition):
    return {{condition[key] for key in ("variable", "source", "target", "known", "given") if condition.get(key)}}


def bindings():
    found = [{{}}]
    left = list(question["conditions"])
    for name, label in question["labels"].items():
        nodes = [node for node, data in G.nodes(data=True) if data["label"] == label]
        ready = [each for each in left if name in names(each) and names(each) <= {{name, *(found[0] if found else ())}}]
        left = [each for each in left if each not in ready]
        found = [
            {{**things, name: node}}
            for things in found
            for node in nodes
            if all(holds(each, {{**things, name: node}}) for each in ready)
        ]
    return found


def named(node):
    data = G.nodes[node]
    if question["property"]:
        return data.get(question["property"])
    for parts in question["names"]:
        if all(data.get(part) is not None for part in parts):
            return " ".join(str(data[part]) for part in parts) if len(parts) > 1 else data[parts[0]]
    return None


def measured(nodes):
    if question["measure"] == "count":
        return len(nodes)
    values = [G.nodes[node][question["property"]] for node in nodes if G.nodes[node].get(question["property"]) is not None]
    if question["measure"] == "sum":
        return sum(values)
    if not values:
        return None
    return {{"mean": sum(values) / len(values), "least": min(values), "most": max(values)}}[question["measure"]]


everything = bindings()
answers = list(dict.fromkeys(things[question["variable"]] for things in everything))
order = question["order"]
if question["groups"]:
    columns = ("part", "whole") if question["combination"] == "share" else ("first", "second")
    groups = [
        [node for node in answers if all(holds(each, {{question["variable"]: node}}) for each in group)]
        for group in question["groups"]
    ]
    result = [{{column: measured(group) for column, group in zip(columns, groups)}}]
elif question["measure"] != "find":
    result = [{{"answer": measured(answers)}}]
elif order:
    placed = {{}}
    for things in everything:
        place = G.nodes[things[order["variable"]]].get(order["property"])
        if place is not None:
            placed[(place, str(named(things[question["variable"]])))] = named(things[question["variable"]])
    keys = sorted(placed, key=lambda key: key[1])
    keys.sort(key=lambda key: key[0], reverse=order["descending"])
    if order["nth"] == 1:
        keys = [key for key in keys if key[0] == keys[0][0]]
    else:
        keys = keys[order["nth"] - 1 : order["nth"]]
    result = [{{"answer": placed[key], "place": key[0]}} for key in keys]
else:
    result = [{{"answer": value}} for value in sorted((named(node) for node in answers), key=str) if value is not None]
"""


def python_of(question: ResolvedQuestion) -> str:
    """Return the script; it sets ``result`` to rows with the columns that the query in Cypher has."""
    data: dict[str, Any] = {
        "labels": question.labels,
        "conditions": [_data(each) for each in question.conditions],
        "variable": question.variable,
        "measure": question.measure,
        "property": question.property,
        "names": question.names,
        "order": asdict(question.order) if question.order is not None else None,
        "groups": [[_data(each) for each in group] for group in question.groups],
        "combination": question.combination,
    }
    return _PROGRAM.format(question=repr(json.loads(json.dumps(data))), gave=GAVE, call=CALL)


def _data(condition: Condition) -> dict[str, Any]:
    return {"kind": type(condition).__name__, **asdict(condition)}
