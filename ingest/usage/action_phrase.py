"""What a tool does, as a verb and its object in the words of its document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from ingest.extract.titles import parse_path, parse_title
from ingest.extract.vocabulary import GENERIC_HEADS, MOSTLY_NOUNS, STOP_WORDS, TRANSPARENT_HEADS, action
from ingest.linking.tool_subjects import action_of, local_name, subject_of
from ingest.word_lists import word_list
from ontology.names import is_noun, noun_lemma, verb_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool
from ontology.verb_phrases import phrases_of_verbs

__all__ = ["ActionPhrase", "action_phrase"]

_PREPOSITIONS = word_list("linking", "prepositions")
_LEADING = word_list("linking", "leading")
_FILLERS = word_list("linking", "fillers")
_MAX_NAME_WORDS = 14
_MAX_OBJECT_WORDS = 5
_MAX_DESCRIPTION_CHARS = 300
_SEGMENT = re.compile(r"[./]")
_SENTENCE_END = re.compile(r"[.,;:(\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionPhrase:
    """A verb and its object.

    :param kind: ``search``, ``list``, ``get``, ``create``, ``update``, ``delete`` or ``act``.
    :param verb: in its base form; empty where the document names none.
    :param thing: the object in lower-case words of the document, at least one.
    :param tail: what stands after the object, with its preposition (``by customer``), or empty.
    :param described: the object as the first sentence of the description has it, where that is another one; or empty.
    """

    kind: str
    verb: str
    thing: str
    tail: str = ""
    described: str = ""


def action_phrase(tool: Tool, ontology: Ontology) -> ActionPhrase:
    """Return the verb and the object of a tool, from its name, else from its path, title or description."""
    kind = subject_of(tool, ontology).action
    by_path = parse_path(tool)
    if by_path is not None and by_path.target and "{" in str(tool.metadata.get("path")):
        verb = by_path.verbs[0] if by_path.verbs else ""
        described = _described_object(tool.description, by_path.target)
        return ActionPhrase(kind=_kind(kind, verb), verb=verb, thing=by_path.target, described=described)
    *parents, last = [tokens for part in _SEGMENT.split(local_name(tool)) if (tokens := words(part))] or [[]]
    verb, rest = _split_verb(last[:_MAX_NAME_WORDS])
    cut = next((i for i, word in enumerate(rest) if word in _PREPOSITIONS and word != "of"), len(rest))
    titled = _split_verb(words(tool.title)[:_MAX_NAME_WORDS])[1] if tool.title != tool.name else []
    named = (rest[:cut], *reversed(parents), titled, rest[cut + 1 :], last, words(tool.id))
    thing = next((phrase for tokens in named if (phrase := _object(tokens))), "this")
    verb = verb or (_first_verb(tool.description) if kind == "act" else "")
    thing = _without_verb(thing, verb)
    tail = " ".join(rest[cut:][:_MAX_OBJECT_WORDS]) if 0 < cut < len(rest) - 1 else ""
    described = _described_object(tool.description, thing)
    return ActionPhrase(kind=_kind(kind, verb), verb=verb, thing=thing, tail=tail, described=described)


def _split_verb(tokens: list[str]) -> tuple[str, list[str]]:
    """Return the verb of a name in its base form, or empty, and the words after it, or before it where it is the last."""
    first = _verb(tokens[0]) if tokens else ""
    if first and (tokens[0] not in MOSTLY_NOUNS or len(tokens) == 1):
        return first, tokens[1:]
    verbs = parse_title(" ".join(tokens), {}).verbs
    for at, token in enumerate(tokens):
        if verbs and action(token) == verbs[0]:
            after = tokens[at + 1 :]
            return verbs[0], tokens[:at] if _FILLERS.issuperset(after) else after
    return "", tokens


def _verb(word: str) -> str:
    """Return the base form of a word that is a verb of tools, or empty."""
    base = verb_lemma(word)
    return action(word) or (base if base in phrases_of_verbs() else "")


def _object(tokens: Sequence[str]) -> str:
    """Return the words of an object without leading and filling words; empty where none is left."""
    kept = [token for token in tokens if token.isalpha() and len(token) > 1]
    while kept and kept[0] in _LEADING:
        kept = kept[1:]
    while len(kept) > 1 and kept[-1] in _FILLERS:
        kept = kept[:-1]
    return " ".join(kept[:_MAX_OBJECT_WORDS])


def _without_verb(thing: str, verb: str) -> str:
    """Return the object without the verb at its beginning: nobody records a *record supplier invoice*."""
    first, _, rest = thing.partition(" ")
    return rest if verb and verb_lemma(first) == verb and _object(rest.split()) else thing


def _described_object(description: str, thing: str) -> str:
    """Return the object of the first sentence (``Search for a hair stylist in a city``: hair stylist), or empty."""
    first, *rest = words(_SENTENCE_END.split(description[:_MAX_DESCRIPTION_CHARS])[0]) or [""]
    if not _verb(first) or rest[:1] in (["or"], ["and"]):
        return ""
    for is_break, group in groupby(rest, key=_is_break):
        found = "" if is_break else _object(list(group))
        last = noun_lemma(found.rpartition(" ")[2])
        if found and last not in TRANSPARENT_HEADS:  # of "a list of orders" the orders
            return found if found != thing and is_noun(last) and last not in GENERIC_HEADS else ""
    return ""


def _is_break(word: str) -> bool:
    """Whether a word ends the phrase of an object: function words, and participles (``located``)."""
    return word in _PREPOSITIONS or word in STOP_WORDS or word.endswith("ed")


def _first_verb(description: str) -> str:
    return _verb((words(description[:80]) or [""])[0])


def _kind(kind: str, verb: str) -> str:
    """Return the kind of the verb; a tool without a verb and without a kind of action gives what its name says (``weather``).

    :param kind: the kind by the whole name and the path, which knows that *get orders* lists.
    """
    if not verb:
        return "get" if kind == "act" else kind
    named = action_of(verb) or "act"
    return kind if named == "get" and kind in ("list", "search") else named
