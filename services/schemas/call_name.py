"""The name by which a model calls a tool."""

from __future__ import annotations

import hashlib
import re

from ontology.tool import Tool

__all__ = ["MAX_NAME", "call_name"]

MAX_NAME = 64
"""Characters of a name: the limit of OpenAI and Anthropic."""
# Chosen, not tuned. Six digits: two of 1,000 shortened names that are alike but for them meet with 3 %, and only such names can.
_HASH_DIGITS = 6
_MAX_NAMESPACE = 24  # so that most of the name has room
_LEGAL_NAME = re.compile(r"^[a-zA-Z0-9_-]+\Z")
_ILLEGAL_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[_-]+")
_SLASH, _POINT = "__", "--"
# A part of an id with one of these could give two ids one name: "a/b" and "a__b", "a-.b" and "a.-b".
_AMBIGUOUS = re.compile(r"__|--|\.\.|-\.|\.-")


def call_name(tool: Tool) -> str:
    """The name by which a model calls the tool: 1 to 64 characters of ``a-z A-Z 0-9 _ -``, different for different ids.

    It depends on the tool alone, so it is the same in every response and every snapshot. A legal id is its own name;
    ``namespace/name`` becomes ``namespace__name``, a point ``--``. An id that is too long or not legal is shortened: words that stand
    twice are left out, then words after the first; six hex digits of the hash of the id follow.
    """
    id_has_name = tool.id == tool.name or tool.id.endswith("/" + tool.name)
    if id_has_name and (pure := _pure(tool.id)):
        return pure
    digest = hashlib.sha256(tool.id.encode("utf-8", "replace")).hexdigest()[:_HASH_DIGITS]
    namespace = tool.id.removesuffix("/" + tool.name) if id_has_name and tool.id != tool.name else ""
    return f"{_shortened(namespace, tool.name, MAX_NAME - _HASH_DIGITS - 1) or 'tool'}_{digest}"


def _pure(id_: str) -> str:
    """The id with its slashes and points replaced; empty where that is too long, or could be the name of another id."""
    if len(id_) <= MAX_NAME and _LEGAL_NAME.match(id_) and not _AMBIGUOUS.search(id_):
        return id_
    parts = id_.split("/")
    legal = all(
        _LEGAL_NAME.match(part.replace(".", "_")) and not _AMBIGUOUS.search(part) and part.strip("_.-") == part
        for part in parts
    )
    name = _SLASH.join(parts).replace(".", _POINT)
    return name if legal and len(name) <= MAX_NAME else ""


def _shortened(namespace: str, name: str, max_chars: int) -> str:
    """Namespace and name without repeated words, then without the words after the first, until they fit."""
    space = _ILLEGAL_IN_NAME.sub("_", namespace).strip("_-")
    words = _WORD.findall(_ILLEGAL_IN_NAME.sub("_", name).strip("_-"))
    if not words:
        return space[:max_chars]
    if len(space) > _MAX_NAMESPACE:
        space = space[:_MAX_NAMESPACE].rpartition("_")[0] or space[:_MAX_NAMESPACE]
    prefix = f"{space}{_SLASH}" if space else ""
    known = _WORD.findall(space)
    if len(words) > 2 and words[0] in known:  # "compute/compute.networks.list"
        words = words[2:] if not words[1].isalnum() else words[1:]
    words = _fitting(words, known, max_chars - len(prefix))
    return (prefix + "".join(words).strip("_-"))[:max_chars].rstrip("_-")


def _fitting(words: list[str], known: list[str], max_chars: int) -> list[str]:
    """The words that fit: repeated ones go first, then those after the first word and its separator."""
    words = list(words)
    while sum(map(len, words)) > max_chars and len(words) > 2:
        del words[_to_drop(words, known)]
        words = [
            word
            for number, word in enumerate(words)
            if word.isalnum() or (number and words[number - 1].isalnum())  # of several separators in a row one is left
        ]
    return words


def _to_drop(words: list[str], known: list[str]) -> int:
    """The number of the first word that stands before, or in the namespace, else of the word after the first."""
    seen = {word.lower() for word in known}
    for number, word in enumerate(words):
        if number and word.isalnum() and word.lower() in seen:
            return number
        seen.add(word.lower())
    return 1 if words[1].isalnum() else 2
