"""The action and the objects in the name of an operation: ``listPurchaseOrders`` lists purchase orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ingest.extract.noun_phrases import clean_phrase
from ingest.extract.parameters import path_objects
from ingest.extract.vocabulary import MOSTLY_NOUNS, STOP_WORDS, TRANSPARENT_HEADS, action, vocabulary
from ontology.names import canonical_name, is_noun, words
from ontology.tool import Tool

__all__ = ["Title", "parse_path", "parse_title"]

_MAX_WORDS = 14
_MAX_OBJECT_WORDS = 4
_LAST_VERBS = vocabulary("last_verbs")
_INNER_VERBS = vocabulary("inner_verbs")
_PATH_VERBS = vocabulary("path_verbs")
_PREPOSITIONS = vocabulary("title_prepositions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """The parsed name of an operation.
    :param verbs: base forms of its verbs: one, or two for ``createOrUpdateCustomer``.
    :param target: canonical name of the object of the verbs, or empty.
    :param others: canonical names of the other objects in the name.
    """

    verbs: tuple[str, ...] = ()
    target: str = ""
    others: tuple[str, ...] = ()

    @property
    def capabilities(self) -> tuple[str, ...]:
        """``verb object`` for each verb; empty without an object."""
        target = " ".join(self.target.split()[-_MAX_OBJECT_WORDS:])
        return tuple(f"{verb} {target}" for verb in self.verbs) if target else ()


def parse_title(name: str, abbreviations: Mapping[str, str]) -> Title:
    """Parse an operation's name by word lists, without spaCy.
    >>> parse_title("sendInvoiceToCustomer", {})
    Title(verbs=('send',), target='invoice', others=('customer',))
    """
    tokens = words(name)[:_MAX_WORDS]
    verbs, tokens = _leading_verbs(tokens)
    if not verbs and len(tokens) > 1 and action(tokens[-1]) in _LAST_VERBS and tokens[-1] == action(tokens[-1]):
        verbs, tokens = [tokens[-1]], tokens[:-1]
    application: list[str] = []
    if not verbs:
        position = next((p for p in (1, 2) if p < len(tokens) - 1 and action(tokens[p]) in _INNER_VERBS), 0)
        if position:  # "lufthansa_select_seat": application, verb, object
            application, verbs, tokens = tokens[:position], [action(tokens[position])], tokens[position + 1 :]
    named = [_object(group, abbreviations) for group in _groups(tokens)]
    objects = [name for name in (*named, _object(application, abbreviations)) if name]
    target = (named[0] if named else "") if objects else _fallback_object(tokens)
    others = tuple(dict.fromkeys(name for name in objects if name != target))
    return Title(verbs=tuple(verbs), target=target, others=others)


def _leading_verbs(tokens: list[str]) -> tuple[list[str], list[str]]:
    """Return the verb at the start of a name, or both verbs of "create or update", and the remaining words."""
    if not tokens or not action(tokens[0]) or (tokens[0] in MOSTLY_NOUNS and len(tokens) > 1):
        return [], tokens
    if len(tokens) > 2 and tokens[1] in ("or", "and") and action(tokens[2]):
        return [action(tokens[0]), action(tokens[2])], tokens[3:]
    return [action(tokens[0])], tokens[1:]


def parse_path(tool: Tool) -> Title | None:
    """Parse an operation whose name is only its method and path; its object is the last object in the path.

    Return None when the tool has no path, or another name.
    """
    path = tool.metadata.get("path")
    if not isinstance(path, str) or "/" not in path:
        return None
    path_words = words(path)
    named = words(tool.name)
    verb = named[0] if named else ""
    if named[-len(path_words) :] != path_words or len(named) - len(path_words) > 1:
        return None
    objects = path_objects(path)
    inner = [word for word in path_words if word in _PATH_VERBS]
    if inner:
        objects = [name for name in objects if name not in _PATH_VERBS]
        verb = inner[-1]
    elif len(objects) > 1 and _is_verb(objects[-1]) and not path.endswith("}"):
        verb = objects.pop()  # /orders/{order_id}/cancel
    target = objects[-1] if objects else ""
    others = tuple(dict.fromkeys(name for name in objects if name != target))
    return Title(verbs=(action(verb),) if action(verb) else (), target=target, others=others)


def _is_verb(name: str) -> bool:
    return action(name) == name and name not in MOSTLY_NOUNS


def _groups(tokens: list[str]) -> list[list[str]]:
    """Return the words in groups, split at prepositions and stop words; between two prepositions the last group comes first.

    The object of "the users currently playing track" is the track. A number clears its group: the object of "core v1 pod" is the pod.
    """
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


def _fallback_object(tokens: list[str]) -> str:
    """Return the object in a name of generic words only: the date for ``get_current_date``."""
    kept = [token for token in tokens if token.isalpha() and token not in STOP_WORDS | TRANSPARENT_HEADS]
    name = canonical_name(" ".join(kept[-2:]))
    return name if name and is_noun(name.rpartition(" ")[2]) else ""


def _object(tokens: list[str], abbreviations: Mapping[str, str]) -> str:
    start, end = clean_phrase(tokens)
    name = canonical_name(" ".join(tokens[start:end]), abbreviations)
    return name if name and is_noun(name.split()[-1]) else ""
