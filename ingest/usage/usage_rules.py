"""Usage lines by rules: quotes of the document, and requests of verb × object × synonyms. Deterministic, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from egotools.usage_lines import DOCUMENT, RULE, UsageLine, UsageLines
from ingest.extract.sentences import sentences
from ingest.linking.tool_subjects import action_of
from ingest.usage.action_phrase import ActionPhrase, action_phrase
from ontology.names import identified_entity, noun_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Tool
from ontology.verb_phrases import phrases_of_kinds, phrases_of_verbs
from ontology.yaml_data import read_yaml

__all__ = [
    "MAX_REQUESTS",
    "MIN_REQUESTS",
    "RULES",
    "bound_text",
    "general_words",
    "synonyms",
    "usage_by_rules",
    "verb_words",
]

RULES = "rules.v1"
MIN_REQUESTS, MAX_REQUESTS = 4, 8
_SLOT = re.compile(r"\{\w+\}")
_READS = ("get", "list", "search")
_PHRASES = Path(__file__).with_name("usage_phrases.yaml")
# Chosen, not tuned: as much as one reads at a glance.
_MAX_WHEN, _MAX_LIMITATIONS = 3, 6
_MAX_DESCRIPTION_CHARS = 4_000
_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "minLength": "at least",
    "maxLength": "at most",
    "minItems": "at least",
    "maxItems": "at most",
}
_UNITS = {"minLength": " characters", "maxLength": " characters", "minItems": " items", "maxItems": " items"}


def usage_by_rules(tool: Tool, ontology: Ontology) -> UsageLines:
    """Return the usage lines of one tool. They have words of its document, of the word lists, and the rules' own words only."""
    phrase = action_phrase(tool, ontology)
    when = tuple(line for line in _quotes(tool, "when_to_use") if not _says_how(line.text))[:_MAX_WHEN]
    made = UsageLine(text=_when_text(phrase), origin=RULE, source=f"{RULES} verb-object")
    requests = list(dict.fromkeys(_requests(tool, phrase)))[:MAX_REQUESTS]
    return UsageLines(
        when_to_use=when or (made,),
        limitations=(*_deprecated(tool), *_quotes(tool, "limitations"), *_bounds(tool))[:_MAX_LIMITATIONS],
        requests=tuple(UsageLine(text=text, origin=RULE, source=f"{RULES} verb-object-synonym") for text in requests),
    )


def synonyms(noun: str) -> frozenset[str]:
    """Return the words of the synonyms of a noun in the singular; a synonym of a synonym is none."""
    return _synonyms().get(noun, frozenset())


@cache
def _synonyms() -> dict[str, frozenset[str]]:
    both: dict[str, set[str]] = {}
    for word, other in _lists()["synonyms"].items():
        both.setdefault(word, set()).update(words(other))
        both.setdefault(other, set()).update(words(word))
    return {word: frozenset(others) for word, others in both.items()}


@cache
def general_words() -> frozenset[str]:
    """Return the words of requests in general: those of the templates, and of the phrases for reading."""
    templates = [template for group in _lists()["requests"].values() for template in group]
    return _words_of([*templates, *(phrase for kind in _READS for phrase in phrases_of_kinds()[kind])])


@lru_cache(maxsize=1 << 12)
def verb_words(verb: str) -> frozenset[str]:
    """Return the words of the everyday phrases for a verb, and for its kind of action; none for a word that is no verb."""
    kind = action_of(verb)
    return _words_of([*phrases_of_verbs().get(verb, ()), *(phrases_of_kinds()[kind] if kind else ())])


def _words_of(templates: Iterable[str]) -> frozenset[str]:
    return frozenset(word for text in templates for word in words(_SLOT.sub(" ", text)))


def _when_text(phrase: ActionPhrase) -> str:
    return f"To {phrase.verb or phrase.kind} the {phrase.thing}{_spaced(phrase.tail)}."


def _says_how(text: str) -> bool:
    """Return whether a sentence says how a request is written, which is no answer to when."""
    return any(pattern.search(text) for pattern in _patterns("says_how"))


def _quotes(tool: Tool, rule: str) -> Iterator[UsageLine]:
    """Yield the sentences of the description that match a pattern of the rule, letter by letter."""
    patterns = _patterns(rule)
    for sentence in sentences(tool.description, _MAX_DESCRIPTION_CHARS):
        end = sentence.start + len(sentence.text) - sentence.prefix_chars
        text = tool.description[sentence.start : end]
        if any(pattern.search(text) for pattern in patterns):
            yield UsageLine(text=text, origin=DOCUMENT, source="description", start=sentence.start, end=end)


@cache
def _patterns(rule: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in _lists()[rule])


def _lists() -> Mapping[str, Any]:
    lists: Mapping[str, Any] = read_yaml(_PHRASES)
    return lists


def _deprecated(tool: Tool) -> Iterator[UsageLine]:
    if tool.metadata.get("deprecated") is True:
        yield UsageLine(text="Deprecated.", origin=RULE, source=f"{RULES} deprecated")


def _bounds(tool: Tool) -> Iterator[UsageLine]:
    """Yield one line for each input whose values are bounded: ``limit: at least 1, at most 100``."""
    for parameter in tool.parameters:
        known = [(key, value) for key, value in parameter.bounds if key in _BOUNDS]
        bounds = [f"{_BOUNDS[key]} {bound_text(value)}{_UNITS.get(key, '')}" for key, value in known]
        if bounds:
            text = f"{parameter.name}: {', '.join(bounds)}"
            yield UsageLine(text=text, origin=RULE, source=f"{RULES} bounds")


def bound_text(value: float) -> str:
    """Return a bound as people write it: ``1000000``, not ``1e+06`` and not ``1000000.0``."""
    return str(int(value)) if isinstance(value, int) or value.is_integer() else str(value)


def _requests(tool: Tool, phrase: ActionPhrase) -> Iterator[str]:
    """Yield everyday requests, at least four: each has the object or a synonym of it, and most a phrase for the verb."""
    templates, orders = _lists()["requests"][phrase.kind], _orders(phrase)
    for number, template in enumerate(templates):
        yield _fill(template, orders[number % len(orders)], phrase.thing, phrase.kind)
    if phrase.described:
        yield _fill(templates[0], orders[0], phrase.described, phrase.kind)
        yield _fill(templates[1], orders[1 % len(orders)], phrase.described, phrase.kind)
    if entity := _input_entity(tool, phrase):
        yield _lists()["with_input"].format(do=_fill("{do}", orders[0], phrase.thing, phrase.kind), input=entity)
    if synonym := _synonym(phrase.thing):
        yield _fill(templates[0], orders[0], synonym, phrase.kind)


def _orders(phrase: ActionPhrase) -> Sequence[str]:
    """Return the phrases for the verb, ``~`` for the object; the tail of the name stands behind those that end in the object."""
    own = phrases_of_verbs().get(phrase.verb) or phrases_of_kinds()[phrase.kind]
    orders = [*own[:2], f"{phrase.verb} ~"] if phrase.verb else own[:3]
    return list(dict.fromkeys(f"{order}{_spaced(phrase.tail)}" if order.endswith("~") else order for order in orders))


def _fill(template: str, order: str, thing: str, kind: str) -> str:
    things = f"the {thing}" if kind != "create" else f"new {thing}" if _is_plural(thing) else f"a new {thing}"
    return template.format(do=order.replace("~", things), things=things)


def _is_plural(thing: str) -> bool:
    last = thing.partition(" of ")[0].rpartition(" ")[2]
    return noun_lemma(last) != last


def _input_entity(tool: Tool, phrase: ActionPhrase) -> str:
    """Return the first entity that a required input identifies and the object does not name, or empty."""
    for parameter in tool.parameters:
        entity = identified_entity(parameter.name) if parameter.required else ""
        if entity and entity not in phrase.thing and set(entity.split()) <= set(words(parameter.name)):
            return entity
    return ""


def _synonym(thing: str) -> str:
    """Return the object with its last word replaced by another word for it, or empty."""
    front, _, last = thing.rpartition(" ")
    other = _lists()["synonyms"].get(noun_lemma(last), "")
    return f"{front} {other}".strip() if other else ""


def _spaced(text: str) -> str:
    return f" {text}" if text else ""
