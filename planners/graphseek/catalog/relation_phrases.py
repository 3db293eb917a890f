"""How people say a relationship, from source to target and back, as its name tells: ``BUILT_AT``: "built at", "builds"."""

from __future__ import annotations

from typing import NamedTuple

from ontology.names import is_verb, verb_lemma, words

__all__ = ["is_active", "relation_phrases"]

# Written from the relationships that the paper names, the predicates of the shipped ontology, and names that tutorials of graph
# databases use; no graph was at hand.
_OF_PLACE = frozenset("in into at within inside under".split())
_OF_AGENT = _OF_PLACE | {"by"}  # "built at a site": the site builds
_PREPOSITIONS = _OF_AGENT | frozenset("to from with for on of as a an".split())
_BEING_IN = frozenset("locate situate place contain include integrate embed store incorporate base".split())
_MUTUAL = frozenset("connect relate link associate border join pair".split())
_AUXILIARIES = frozenset("is are was were be been".split())
_PARTICIPLES = {
    **{verb: verb for verb in ("output", "input", "put", "set", "cut", "read", "cost", "hit")},
    **{
        "build": "built",
        "buy": "bought",
        "make": "made",
        "sell": "sold",
        "send": "sent",
        "hold": "held",
        "have": "had",
    },
    **{
        "write": "written",
        "give": "given",
        "take": "taken",
        "know": "known",
        "pay": "paid",
        "feed": "fed",
        "lead": "led",
    },
    **{
        "keep": "kept",
        "find": "found",
        "run": "run",
        "teach": "taught",
        "drive": "driven",
        "see": "seen",
        "ship": "shipped",
    },
}
_VOWELS = "aeiou"


class RelationPhrases(NamedTuple):
    """Phrases without the words for the ends, in lower case."""

    forward: tuple[str, ...]
    backward: tuple[str, ...]


def relation_phrases(name: str) -> RelationPhrases:
    """Return the phrases of a relationship with this name, in capitals, camel case or lower case."""
    parts = words(name)
    if len(parts) > 2 or parts[-1:] != ["a"]:  # "is a" is no auxiliary
        parts = [part for part in parts if part not in _AUXILIARIES] or parts
    if not parts:
        return RelationPhrases((), ())
    said = " ".join(parts)
    if parts[0] == "has":
        rest = " ".join(parts[1:])
        return RelationPhrases((said,), (f"{rest} of",) if rest else ("belongs to",))
    if parts[-1] in _PREPOSITIONS:
        return RelationPhrases((said,), _backward(parts[:-1], parts[-1]))
    verb = verb_lemma(parts[0])
    rest = " ".join(("", *parts[1:]))
    if is_verb(verb) and (parts[0] == _third_person(verb) or len(parts) == 1):
        return RelationPhrases((_third_person(verb) + rest,), (f"{_participle(verb)}{rest} by",))
    return RelationPhrases((f"has {said}",), (f"{said} of",))


def is_active(word: str) -> bool:
    """Whether a word is a verb as it stands behind its subject: "refers", "refer"; not "built"."""
    verb = verb_lemma(word)
    return is_verb(verb) and word in (verb, _third_person(verb)) and word != _participle(verb)


def _backward(parts: list[str], preposition: str) -> tuple[str, ...]:
    """The phrases from the target of a name that ends with a preposition; none where a rule could only guess."""
    last = parts[-1] if parts else ""
    verb = verb_lemma(last) if last else ""
    if verb in _MUTUAL or (last and preposition == "with"):
        return (f"{last} {preposition}",)
    if verb in _BEING_IN or (not last and preposition in _OF_PLACE):
        return ("contains",)
    if last == _third_person(verb) and is_verb(verb):
        return (f"{_participle(verb)} on by",) if preposition == "on" else ()  # depended on by
    if last != verb and is_verb(verb):
        return (_third_person(_stem(last, verb)),) if preposition in _OF_AGENT else ()
    said = f"has {last}" if last else "has"
    if preposition != "of":
        return ()
    return (said, "contains", "consists of") if last == "part" else (said,)


def _stem(participle: str, verb: str) -> str:
    """The spelling of the verb that the participle has: ``install`` of installed, although a word list has ``instal`` too."""
    return participle[:-2] if participle.endswith("ed") and is_verb(participle[:-2]) else verb


def _third_person(verb: str) -> str:
    if verb == "have":
        return "has"
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2:-1] not in _VOWELS else f"{verb}s"


def _participle(verb: str) -> str:
    if verb in _PARTICIPLES:
        return _PARTICIPLES[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    return f"{verb[:-1]}ied" if verb.endswith("y") and verb[-2:-1] not in _VOWELS else f"{verb}ed"
