"""What an answer claims: its numbers and its proper names, which a result must have.

A name is what a quoted, a code-like or a capitalised token says. A capitalised word at the beginning of a sentence is one where the
sentence shows it: it stands alone on its line or before ``:``, ``,`` or ``(``, another capitalised word follows it, or a verb in the
singular does, before which English puts no bare noun ("Botswana lies", but "Each site makes"). Ordinals, enumerations, handles,
months and weekdays are no names.

The rules and word lists were found on the answers of the paper's listings 2 to 6 and of its appendix C.2, and on answers of
Qwen2.5-Coder-1.5B to questions about a company's tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ontology.names import is_noun, is_verb, noun_lemma, verb_lemma
from ontology.number_words import WORDED_NUMBER, number_of

__all__ = ["Claim", "claims_of"]

_TOKEN = re.compile(
    r"(?P<quoted>\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|`[^`\n]{1,200}`|(?<![\w])'[^'\n]{1,200}'(?!\w))"
    r"|(?P<date>\b\d{4}-\d{2}(?:-\d{2})?\b)"
    r"|(?P<ordinal>\b\d+(?:st|nd|rd|th)\b)"
    rf"|(?P<worded>(?i:(?=[a-z]|\S+ dozen\b){WORDED_NUMBER})(?!(?:[-_./'’&+]|::)\w))"
    r"|(?P<number>(?<![\w.,-])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w]|[.,-]\d|-[A-Z])(?:\s?%)?)"
    r"|(?P<word>\w+(?:(?:[-_./'’&+]|::)\w+)*)"
    r"|(?P<stop>\n+|[.!?]+(?=\s|$)|[;|])"
    r"|(?P<mark>[:,()–—-])"
)
_ENUMERATION = re.compile(r"(?m)^\s*(?:[-*•>#]+\s+)*(?:\(?\d{1,3}[.)]\s+)?(?:\*\*)?")
_SCALES = {"hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "billion": 1e9}
_ABOUT = frozenset({"about", "around", "approximately", "roughly", "nearly", "almost", "circa"})
_DATES = frozenset(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday".split()
)
_OPENERS = frozenset(
    "a about after all although also an and another answer any as at based because before besides both but by each either "
    "every few first finally following for found from furthermore given hence here how however i if in indeed it its last "
    "main many most much neither next no nobody none nor not note nothing of on one only or other otherwise our out overall per "
    "please result results second several she he since so some such summary that the their there therefore these they third this "
    "those though thus to together total two under unfortunately until we what when where which while who whose why with within "
    "without yes you your ok".split()
)
"""Words that begin sentences and are no names, also before a verb or a colon: pronouns, determiners, prepositions, adverbs."""
_SINGULAR_VERBS = frozenset({"is", "was", "has", "does", "will", "can", "must", "may", "had"})
_ABSTRACT = ("tion", "sion", "ment", "ness", "ity", "ance")
"""Ends of nouns that stand without an article in the singular, as a name does: "Production takes place"."""
_MODIFIERS = frozenset({"also", "still", "only", "mainly", "currently"})
_JOINTS = frozenset({"of", "the", "and", "de", "la", "du", "da", "del", "der", "von", "&", "-", "–", ","})
_HANDLE = re.compile(r"[tgp]\d{1,4}(?:\.\d+)*")
_ROMAN_OR_QUARTER = re.compile(r"[Qq]([1-4])")
_HYPHENED = re.compile(r"(\d+)(?:-[a-z]+)+")
_CODE = re.compile(r"(?=.*\d)(?=.*[^\W\d_])|.*_|.*[a-z][A-Z]|.*[A-Z]{2}|.*\w[-/.]\w*[A-Z\d]")
_MOST_RUN = 12  # tokens of one name


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A number or a name of an answer.

    :param text: as it stands there.
    :param number: its value; None of a name.
    :param tolerance: how far a value may be off that is written so: half of the last digit that was written.
    :param parts: of a name, its words as (start, end) in the answer, without those that join them; it may be several names in a row.
    :param start: where it begins in the answer.
    :param end: where it ends.
    """

    text: str
    start: int
    end: int
    number: float | None = None
    tolerance: float = 0.0
    parts: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int

    @property
    def is_capitalised(self) -> bool:
        return self.kind in ("word", "worded") and self.text[:1].isupper()


def claims_of(answer: str) -> list[Claim]:
    """Return the claims of an answer, in their order."""
    found: list[Claim] = []
    for sentence in _sentences(answer):
        found += _of_sentence(sentence, answer)
    return found


def _sentences(answer: str) -> Iterator[list[_Token]]:
    enumerations = {place for match in _ENUMERATION.finditer(answer) for place in range(match.start(), match.end())}
    sentence: list[_Token] = []
    for match in _TOKEN.finditer(answer):
        if match.start() in enumerations and match.lastgroup not in ("quoted",):
            if match.lastgroup == "stop" and sentence:
                yield sentence
                sentence = []
            continue
        if match.lastgroup == "stop":
            yield sentence
            sentence = []
        else:
            kind = "word" if match[0].lower() == "one" else match.lastgroup or ""  # "one of them"
            sentence.append(_Token(kind, match[0], match.start(), match.end()))
    yield sentence


def _of_sentence(tokens: Sequence[_Token], answer: str) -> Iterator[Claim]:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind in ("number", "worded") or (token.kind == "word" and _number_in_word(token.text) is not None):
            yield _number_claim(tokens, at)
        elif token.kind == "quoted":
            inner = token.text[1:-1].strip(" .,;:")
            if inner:
                yield Claim(text=inner, start=token.start + 1, end=token.end - 1)
        elif token.kind == "date":
            yield Claim(text=token.text, start=token.start, end=token.end)
        elif _is_name(tokens, at):
            end = _run_end(tokens, at)
            parts = tuple((each.start, each.end) for each in tokens[at:end] if each.text not in _JOINTS)
            start, stop = token.start, tokens[end - 1].end
            yield Claim(text=answer[start:stop], start=start, end=stop, parts=parts)
            at = end - 1
        at += 1


def _number_in_word(word: str) -> float | None:
    match = _ROMAN_OR_QUARTER.fullmatch(word) or _HYPHENED.fullmatch(word)
    return None if match is None else float(match[1])


def _number_claim(tokens: Sequence[_Token], at: int) -> Claim:
    token = tokens[at]
    written = token.text.rstrip("% ").replace(",", "").replace("−", "-")
    worded = number_of(token.text) if token.kind == "worded" else None
    worded = _number_in_word(token.text) if token.kind == "word" else worded
    decimals = len(written.partition("e")[0].partition(".")[2]) if worded is None else 0
    following = tokens[at + 1].text.lower() if at + 1 < len(tokens) else ""
    scale = _SCALES.get(following, 1.0)
    value = (float(written) if worded is None else worded) * scale
    digit = max(scale, _SCALES.get(token.text.split()[-1].lower(), 1.0))  # the last that was written: "two thousand"
    is_rounded = decimals > 0 or digit > 1 or (at > 0 and tokens[at - 1].text.lower() in _ABOUT)
    tolerance = 0.5 * 10.0**-decimals * digit * (1 + 1e-9) if is_rounded else 0.0
    return Claim(text=token.text, start=token.start, end=token.end, number=value, tolerance=tolerance)


def _is_name(tokens: Sequence[_Token], at: int) -> bool:
    token = tokens[at]
    if token.kind != "word" or _HANDLE.fullmatch(token.text) or token.text.lower() in _DATES:
        return False
    if _CODE.match(token.text):
        return True
    if not token.is_capitalised or (len(token.text) == 1 and token.text in "AI"):
        return False
    return at > 0 or _opens_with_name(tokens)


def _opens_with_name(tokens: Sequence[_Token]) -> bool:
    """Whether the capitalised word at the beginning of a sentence is a name."""
    word = tokens[0].text.lower().removesuffix("'s").removesuffix("’s")
    if word in _OPENERS or _is_plural(word) or (word.endswith(_ABSTRACT) and is_noun(word)):
        return False
    rest = [each for each in tokens[1:] if each.text.lower() not in _MODIFIERS]
    if not rest or rest[0].text in ("(", ",", ":"):
        return len(tokens) <= 1 or tokens[0].text != word  # "Mexico", "Mexico: 3"
    following = rest[0]
    if following.is_capitalised or following.text.lower() in _SINGULAR_VERBS:
        return True
    if following.text in ("and", "or", "-", "–"):
        return len(rest) > 1 and rest[1].is_capitalised
    return following.text.endswith("s") and following.text.islower() and _is_singular_verb(following.text)


def _is_plural(word: str) -> bool:
    lemma = noun_lemma(word)
    return lemma != word and is_noun(lemma)


def _is_singular_verb(word: str) -> bool:
    lemma = verb_lemma(word)
    return lemma != word and is_verb(lemma)


def _run_end(tokens: Sequence[_Token], at: int) -> int:
    """Return the end of a run of capitalised and code-like words, with numbers and words such as "of" between them."""
    end = at + 1
    while end < min(len(tokens), at + _MOST_RUN):
        step = end
        while step < len(tokens) and step - end < 2 and tokens[step].text in _JOINTS:
            step += 1
        if step >= len(tokens) or not (tokens[step].is_capitalised or _is_name(tokens, step)):
            break
        end = step + 1
    return end
