"""Which words of a noun phrase name an object, and what the name of an operation says: by word lists, without a parser."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ingest.extract.sentences import STOP_WORDS, action, is_listed, vocabulary
from ingest.extract.structure import path_objects
from ontology.names import canonical_name, is_noun, words
from ontology.tool import Tool

MAX_OBJECT_WORDS = 4
_WORD = re.compile(r"[^\W\d_][\w.+]*(?:[-/&'’][\w.+]+)*\Z")
_EMPTY_HEADS = vocabulary("empty_heads")
_TRANSPARENT_HEADS = vocabulary("transparent_heads")
_GENERIC_HEADS = _TRANSPARENT_HEADS | vocabulary("generic_heads")
_MOSTLY_NOUNS = vocabulary("mostly_nouns")
_HTTP_METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
_MAX_WORD_CHARS, _LONGEST_ACRONYM = 30, 6


def is_generic(word: str) -> bool:
    """Whether a lower-case head noun names no business object alone."""
    return is_listed(word, _GENERIC_HEADS)


def naming_words(tokens: Sequence[str]) -> tuple[int, int]:
    """Return the range ``[start, end)`` of a noun phrase's words that name an object, at most four; an empty range when none do."""
    start, end = 0, len(tokens)
    while start < end and (tokens[start].lower() in STOP_WORDS or not _is_word(tokens[start])):
        start += 1
    end = next((at for at in range(start, end) if not _is_word(tokens[at])), end)
    while end - start > 1 and is_listed(tokens[end - 1].lower(), _EMPTY_HEADS):
        end -= 1
    start = max(start, end - MAX_OBJECT_WORDS)
    return (0, 0) if names_nothing(tokens[start:end]) else (start, end)


def names_nothing(tokens: Sequence[str]) -> bool:
    """Whether the words name no business object: all are generic, or the only word is neither a known noun nor capitalised."""
    lower = [token.lower() for token in tokens if token not in _HTTP_METHODS]
    if all(word in STOP_WORDS or is_generic(word) for word in lower):
        return True
    if len(lower) > 1:
        return False
    last = tokens[-1]
    if last.isupper() and len(lower[0]) > _LONGEST_ACRONYM:
        return True  # a literal
    is_proper = last[0].isupper() and last.isalpha() and len(last) > 2
    return not is_proper and not (len(lower[0]) > 2 and is_noun(canonical_name(lower[0]).rpartition(" ")[2]))


def _is_word(text: str) -> bool:
    return _WORD.match(text) is not None and "_" not in text and len(text) <= _MAX_WORD_CHARS


_MAX_NAME_WORDS = 14
_LAST_VERBS = vocabulary("last_verbs")
_INNER_VERBS = vocabulary("inner_verbs")
_PATH_VERBS = vocabulary("path_verbs")
_PREPOSITIONS = vocabulary("title_prepositions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """The parsed name of an operation."""

    verbs: tuple[str, ...] = ()  # base forms of its verbs: one, or two for ``createOrUpdateCustomer``
    target: str = ""  # canonical name of the object of the verbs, or empty
    others: tuple[str, ...] = ()  # canonical names of the other objects in the name

    @property
    def capabilities(self) -> tuple[str, ...]:
        """``verb object`` for each verb; empty without an object."""
        target = " ".join(self.target.split()[-MAX_OBJECT_WORDS:])
        return tuple(f"{verb} {target}" for verb in self.verbs) if target else ()


def parse_title(name: str, abbreviations: Mapping[str, str]) -> Title:
    """Parse an operation's name in code style.

    >>> parse_title("sendInvoiceToCustomer", {})
    Title(verbs=('send',), target='invoice', others=('customer',))
    """
    tokens = words(name)[:_MAX_NAME_WORDS]
    verbs: list[str] = []
    if tokens and action(tokens[0]) and not (tokens[0] in _MOSTLY_NOUNS and len(tokens) > 1):
        end = 3 if len(tokens) > 2 and tokens[1] in ("or", "and") and action(tokens[2]) else 1  # createOrUpdate
        verbs, tokens = [action(verb) for verb in tokens[:end:2]], tokens[end:]
    elif len(tokens) > 1 and tokens[-1] in _LAST_VERBS and tokens[-1] == action(tokens[-1]):
        verbs, tokens = [tokens[-1]], tokens[:-1]
    application: list[str] = []
    if not verbs:
        position = next((p for p in (1, 2) if p < len(tokens) - 1 and action(tokens[p]) in _INNER_VERBS), 0)
        if position:  # "lufthansa_select_seat": application, verb, object
            application, verbs, tokens = tokens[:position], [action(tokens[position])], tokens[position + 1 :]
    named = [_object(group, abbreviations) for group in _groups(tokens)]
    objects = [name for name in (*named, _object(application, abbreviations)) if name]
    if objects:
        target = named[0] if named else ""
    else:  # of generic words only: the date for ``get_current_date``
        kept = [token for token in tokens if token.isalpha() and token not in STOP_WORDS | _TRANSPARENT_HEADS]
        target = _noun_name(kept[-2:], {})
    return _title(verbs, target, objects)


def parse_path(tool: Tool) -> Title | None:
    """Parse an operation named by method and path alone; its object is the last one in the path. None for any other."""
    path = tool.metadata.get("path")
    if not isinstance(path, str) or "/" not in path:
        return None
    path_words = words(path)
    named = words(tool.name)
    if named[-len(path_words) :] != path_words or len(named) - len(path_words) > 1:
        return None
    verb = named[0] if named else ""
    objects = path_objects(path)
    inner = [word for word in path_words if word in _PATH_VERBS]
    if inner:
        objects = [name for name in objects if name not in _PATH_VERBS]
        verb = inner[-1]
    elif len(objects) > 1 and not path.endswith("}") and objects[-1] not in _MOSTLY_NOUNS:
        if action(objects[-1]) == objects[-1]:
            verb = objects.pop()  # /orders/{order_id}/cancel
    verb = action(verb)
    return _title([verb] if verb else [], objects[-1] if objects else "", objects)


def _title(verbs: Sequence[str], target: str, objects: Sequence[str]) -> Title:
    others = dict.fromkeys(name for name in objects if name != target)
    return Title(verbs=tuple(verbs), target=target, others=tuple(others))


def _groups(tokens: list[str]) -> list[list[str]]:
    """Split at prepositions and stop words; between two prepositions the last group comes first. The object of "the
    users currently playing track" is the track, of "core v1 pod" the pod: a number clears its group."""
    groups: list[list[str]] = []
    runs: list[list[str]] = [[]]
    for token in [*tokens, "by"]:
        if token in _PREPOSITIONS:
            groups.extend(run for run in reversed(runs) if run)
            runs = [[]]
        elif token in STOP_WORDS:
            runs.append([])
        elif not token.isalpha():
            runs[-1].clear()
        else:
            runs[-1].append(token)
    return groups


def _object(tokens: list[str], abbreviations: Mapping[str, str]) -> str:
    start, end = naming_words(tokens)
    return _noun_name(tokens[start:end], abbreviations)


def _noun_name(tokens: Sequence[str], abbreviations: Mapping[str, str]) -> str:
    """Return the canonical name of words that end in a noun, or empty."""
    name = canonical_name(" ".join(tokens), abbreviations)
    return name if name and is_noun(name.rpartition(" ")[2]) else ""
