"""Python for the public tasks, as a model that always answers well would write it: one program reads the facts out of the question, one computes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ontology.errors import InvalidArgumentError

__all__ = ["public_calls", "public_code"]

_READ_TABLES = """
import json, re
question = {question!r}
tables, label = {{}}, "Penguins"
for line in question.splitlines():
    cells = [cell.strip() for cell in line.split(",")]
    if "giraffes" in line:
        label = "Giraffes"
    removed = re.search(r"delete the penguin named (\\w+)", line)
    if removed:
        tables["Penguins"] = [row for row in tables["Penguins"] if row["name"] != removed[1]]
    elif "add a penguin" in line:
        label = "Penguins"
    elif len(cells) == 4 and cells[1].isdigit():
        row = dict(zip(("name", "age", "height", "weight"), [cells[0], *map(int, cells[1:])]))
        tables.setdefault(label, []).append(row)
for rows in tables.values():
    for place, row in enumerate(rows, 1):
        row["place"] = place
print(json.dumps(tables))
"""
_READ_SWAPS = """
import json, re
question = {question!r}
begin, rest = re.split(r"\\n\\s*\\n", question, maxsplit=1)
people = re.match(r"(.*?) are ", begin)[1].replace(" and ", " ").replace(",", "").split()
listed = begin.split(": ", 1)[1]
parts = re.split(r"(?:, and |, )(?=(?:" + "|".join(people) + r")\\b)", listed)
found = [re.match(r"(\\w+) (?:is playing|is dancing with|has an?|gets) (.*?)\\.?\\s*$", part) for part in parts]
holders = [dict(person=each[1], thing=each[2]) for each in found]
pairs = re.findall(r"(?:First|Then|Finally), (\\w+) and (\\w+) ", rest)
swaps = [dict(step=step, first=first, second=second) for step, (first, second) in enumerate(pairs, 1)]
print(json.dumps(dict(Holders=holders, Swaps=swaps)))
"""
_SWAPPED = """held = {{each["person"]: each["thing"] for each in of("Holders")}}
for each in sorted(of("Swaps"), key=lambda each: each["step"]):
    held[each["first"]], held[each["second"]] = held[each["second"]], held[each["first"]]
answer = held[{person!r}]"""
_BESIDE = """me = of("Elements", name={name!r})[0]
answer = [each["name"] for each in of("Elements") if {condition}][0]"""
_RELATIONS = {
    r"one more proton than (\w+)": "each['number'] == me['number'] + 1",
    r"one less proton than (\w+)": "each['number'] == me['number'] - 1",
    r"right of (\w+)": "each['period'] == me['period'] and each['number'] == me['number'] + 1",
    r"left of (\w+)": "each['period'] == me['period'] and each['number'] == me['number'] - 1",
    r"just below (\w+)": "each['group'] == me['group'] and each['period'] == me['period'] + 1",
    r"just above (\w+)": "each['group'] == me['group'] and each['period'] == me['period'] - 1",
}
_PENGUINS = {
    r"first penguin sorted by alphabetic": "min(each['name'] for each in of('Penguins'))",
    r"last penguin sorted by alphabetic": "max(each['name'] for each in of('Penguins'))",
    r"more than (\d+) years old\?": "sum(each['age'] > {0} for each in of('Penguins'))",
    r"less than (\d+) years old\?": "sum(each['age'] < {0} for each in of('Penguins'))",
    r"more than (\d+) years old and weight less than (\d+)": "sum(each['age'] > {0} and each['weight'] < {1} for each in of('Penguins'))",
    r"less than (\d+) years old and weight more than (\d+)": "sum(each['age'] < {0} and each['weight'] > {1} for each in of('Penguins'))",
    r"What is the (weight|age|height) of (\w+)\?": "of('Penguins', name='{1}')[0]['{0}']",
    r"What animals are listed": "', '.join(sorted({{each['label'].lower() for each in rows if 'age' in each}}))",
    r"Which is the youn\w*est penguin": "min(of('Penguins'), key=lambda each: each['age'])['name']",
    r"Which is the oldest penguin": "max(of('Penguins'), key=lambda each: each['age'])['name']",
    r"How many penguins are there": "len(of('Penguins'))",
    r"average height": "sum(each['height'] for each in of('Penguins')) / len(of('Penguins'))",
    r"cumulated weight": "sum(each['weight'] for each in of('Penguins'))",
    r"name of the last penguin\?": "max(of('Penguins'), key=lambda each: each['place'])['name']",
    r"name of the last giraffe\?": "max(of('Giraffes'), key=lambda each: each['place'])['name']",
    r"penguin that is (\d+) cm tall": "of('Penguins', height={0})[0]['name']",
    r"younger than (\w+) and older than (\w+)": "[each['name'] for each in of('Penguins') if of('Penguins', name='{1}')[0]['age'] < each['age'] < of('Penguins', name='{0}')[0]['age']][0]",
}
"""Forms of the 20 questions about penguins → Python; written in view of these 20."""


def public_calls(kind: str, question: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the calls that give the facts of a question."""
    if kind == "periodic_elements":
        name = _element(question)[0]
        text = f"Give name, number, period and group of the elements beside {name} in the periodic table, as JSON."
        yield "ask_llm", {"question": text}
    else:
        code = _READ_TABLES if kind == "penguins_in_a_table" else _READ_SWAPS
        yield "run_python", {"code": code.format(question=question).lstrip()}


def public_code(kind: str, question: str) -> str:
    """Return the computation over the facts.

    :raises InvalidArgumentError: when the question has no known form.
    """
    if kind == "periodic_elements":
        name, condition = _element(question)
        return _BESIDE.format(name=name, condition=condition)
    if kind == "tracking_shuffled_objects":
        asked = question.rsplit(". ", 1)[1].partition(", ")[2]
        return _SWAPPED.format(person=asked.split()[0])
    for form, code in _PENGUINS.items():
        if found := re.search(form, question):
            return f"answer = {code.format(*found.groups())}"
    raise _unknown(question)


def _element(question: str) -> tuple[str, str]:
    for form, condition in _RELATIONS.items():
        if found := re.search(form, question):
            return found[1].lower(), condition
    raise _unknown(question)


def _unknown(question: str) -> InvalidArgumentError:
    return InvalidArgumentError("the question has no known form", subject=question[:80], remedy="Add its form")
