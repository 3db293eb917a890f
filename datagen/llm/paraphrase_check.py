"""The check of a paraphrase: whether it asks for the same as the worded request, found by rules alone.

The constants were set on ten requests of the shipped company and their paraphrases by a model of 1.5 billion parameters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from datagen.interfaces import RequestValidator
from datagen.patterns import load_patterns
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.synthetic_request import SyntheticRequest
from datagen.validation.stated_values import find_values
from datagen.validation.synonyms import EverydayWords
from ingest.linking import action_of
from ontology.names import is_noun, is_verb, noun_lemma, verb_lemma, words
from ontology.stop_words import stop_words

__all__ = ["Drop", "ParaphraseCheck"]

_MAX_CHARS = 500
_MIN_WORDS = 3
_MIN_LENGTH, _MAX_LENGTH, _FREE_WORDS = 0.4, 1.5, 4  # words, relative to the worded request
_MAX_CHANGED = 1 / 3  # share of its content words that may be lost, and the same number of new ones
_MAX_ALIKE = 0.9  # similarity of the words, without those of the values
_FREE_CHANGED = 2  # content words that a short request may lose or gain
_LOOP_WORDS, _LOOP_TIMES = 4, 3  # a loop: a sequence of 4 words that occurs 3 times
_MASK = re.compile(r"\[[^\]]*\]|<[^>]*>|\{[^}]*\}|\bX{2,}\b|\b[A-Z]{2,6}\d{1,2}\b")
_IDENTIFIER = re.compile(r"(?<![\w@./-])[a-z]+(?:_[a-z0-9]+)+(?![\w@])|\b[a-z]+[a-z0-9]*[A-Z]\w*")
_NEGATION = re.compile(r"\b(?:not|no|never|without|except|unless|cannot|\w+n['’]t)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|fifty|hundred|thousand|dozen)\b",
    re.IGNORECASE,
)
_DELETE = action_of("delete")
_ORDER = frozenset(word for word in load_patterns("validation/cues").words("order_words") if not is_noun(word))
_PLAIN = stop_words("index") | stop_words("plain_words") | _ORDER


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A paraphrase that is not used.

    :param rule: what it breaks: ``form``, ``same``, ``length``, ``value``, ``new``, ``meaning``, or the name of a check.
    :param reason: one sentence without a full stop.
    """

    text: str
    rule: str
    reason: str


class ParaphraseCheck:
    """Finds why a paraphrase cannot stand for the worded request.

    :param validators: the validators of requests, which a paraphrase must pass too.
    """

    def __init__(self, catalogue: ProfiledCatalogue, validators: Sequence[RequestValidator]) -> None:
        self._catalogue = catalogue
        self._everyday = EverydayWords.of(catalogue)
        self._validators = validators

    def find_fault(self, request: SyntheticRequest) -> str:
        """Why a request fails a validator, or empty."""
        drop = self._failed(request, request.text)
        return drop.reason if drop else ""

    def find_drop(self, text: str, worded: SyntheticRequest) -> Drop | None:
        """Why a text cannot stand for the worded request, or None.

        :param worded: a request that passes the validators.
        """
        rules = (("form", _form), ("value", _lost_value), ("same", _same), ("length", _length), ("new", _new_thing))
        for rule, find in rules:
            if reason := find(text, worded):
                return Drop(text=text, rule=rule, reason=reason)
        if reason := self._lost_object(text, worded) or _changed(text, worded):
            return Drop(text=text, rule="meaning", reason=reason)
        return self._failed(worded, text)

    def _failed(self, worded: SyntheticRequest, text: str) -> Drop | None:
        request = SyntheticRequest(
            id=worded.id, text=text, request_class=worded.request_class, path=worded.path, values=worded.values
        )
        for validator in self._validators:
            verdict = validator.validate(request)
            if not verdict.passed:
                return Drop(text=text, rule=verdict.check, reason=verdict.reason)
        return None

    def _lost_object(self, text: str, worded: SyntheticRequest) -> str:
        """The object of a tool that the worded request names and the text does not."""
        said, before = _lemmas(words(text)), _lemmas(words(worded.text))
        for tool in worded.path.tools:
            entity = self._catalogue.profile(tool).entity
            names = _lemmas(word for name in (entity, *self._everyday.words(entity)) for word in words(name))
            names -= _lemmas(words(self._catalogue.tool(tool).title)[:1])  # its verb
            if names & before and not names & said:
                return f"it does not name the {entity} any more"
        return ""


def _form(text: str, _worded: SyntheticRequest) -> str:
    if len(words(text)) < _MIN_WORDS:
        return "it is empty or too short"
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return "it holds half a character"
    tokens = words(text)
    runs = Counter(tuple(tokens[at : at + _LOOP_WORDS]) for at in range(len(tokens) - _LOOP_WORDS + 1))
    run, times = max(runs.items(), key=lambda one: one[1], default=((), 0))
    return f"it repeats itself: {' '.join(run)!r}" if times >= _LOOP_TIMES else ""


def _same(text: str, worded: SyntheticRequest) -> str:
    values = {word for value in worded.values for word in words(value.value)}
    own, other = ([word for word in words(one) if word not in values] for one in (text, worded.text))
    alike = SequenceMatcher(None, own, other, autojunk=False).ratio() > _MAX_ALIKE
    return "it says the same in the same words" if alike else ""


def _length(text: str, worded: SyntheticRequest) -> str:
    count, before = len(text.split()), len(worded.text.split())
    if len(text) > _MAX_CHARS or count > _MAX_LENGTH * before + _FREE_WORDS:
        return f"it has {count} words instead of {before}"
    return f"it has only {count} words instead of {before}" if count < _MIN_LENGTH * before else ""


def _lost_value(text: str, worded: SyntheticRequest) -> str:
    """The value that is not in the text letter by letter, as whole words."""
    for value in worded.values:
        if not re.search(rf"(?<!\w){re.escape(value.value)}(?!\w)", text):
            return f"the value {value.value!r} is not in it"
    return ""


def _new_thing(text: str, worded: SyntheticRequest) -> str:
    """The number, name, identifier or mark of a place that only the text has."""
    for pattern, what in ((_MASK, "mark"), (_IDENTIFIER, "internal name"), (_NUMBER, "number")):
        known = {match[0].lower() for match in pattern.finditer(worded.text)}
        new = next((match[0] for match in pattern.finditer(text) if match[0].lower() not in known), "")
        if new and new not in worded.text:
            return f"the {what} {new!r} is new"
    known = set(words(worded.text))
    for value in find_values(text):
        if not known.issuperset(words(value.text)):
            return f"the {value.kind} {value.text!r} is new"
    return ""


def _changed(text: str, worded: SyntheticRequest) -> str:
    """The negation that is new or lost, or the words that are, where they are too many."""
    if bool(_NEGATION.search(text)) is not bool(_NEGATION.search(worded.text)):
        return "a negation is new or lost"
    if _deletes(text) is not _deletes(worded.text):
        return "a word for deleting is new or lost"
    before, after = _content(worded.text, worded), _content(text, worded)
    most = max(_FREE_CHANGED, _MAX_CHANGED * len(before))
    for changed, what in ((before - after, "lost"), (after - before, "new")):
        if len(changed) > most:
            return f"too many words are {what}: {', '.join(sorted(changed))}"
    return ""


def _deletes(text: str) -> bool:
    return any(action_of(word) == _DELETE for word in words(text))


def _content(text: str, worded: SyntheticRequest) -> set[str]:
    """The lemmas of the words that carry meaning, without numbers, words of the values, and words that are verbs only."""
    values = {word for value in worded.values for word in words(value.value)}
    said = [word for word in words(text) if word not in _PLAIN and word not in values and not word.isdigit()]
    lemmas = {verb_lemma(noun_lemma(word)) for word in said}
    return {lemma for lemma in lemmas if is_noun(lemma) or not is_verb(lemma)}


def _lemmas(tokens: Iterable[str]) -> set[str]:
    return {noun_lemma(word) for word in tokens if word not in _PLAIN}
