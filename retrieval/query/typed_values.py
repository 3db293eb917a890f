"""Typed values: what a request states literally, such as an identifier, a path, an address or a quoted text.

A value is no word. "acme/web" does not ask for web hooks, "C-21066" asks for whatever takes a customer's number. So values are found
first, with their kind and their place; matching uses the noun of the kind instead of the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain, islice
from pathlib import Path

from ontology.files import read_yaml
from ontology.names import noun_lemma, words
from ontology.value_shape import kind_of_value
from retrieval.index.bm25 import STOP_WORDS, terms
from retrieval.index.value_shapes import ShapeMatch, ValueShapes

MAX_VALUES = 1_000  # values that are found in one request; the rest of it is words
# Bits from which a shape says what its values are: those of two digits and a letter. A shape that is less specific fits
# words and counts. Chosen, not tuned.
LEAST_SPECIFIC = 8.0
SELF = "self"  # the kind of the first person: "my", "I am". It is a value for what identifies a person
VALUE_WORDS = Path(__file__).with_name("value_words.yaml")

_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_DAY_NAME = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_CLOCK = r"(?:\d{1,2}:[0-5]\d(?::[0-5]\d)?(?:\s?[ap]m)?|\d{1,2}(?:\.[0-5]\d)?\s?[ap]m)"
_NUMBER = r"\d{1,3}(?:[,.]\d{3}){1,5}(?:[.,]\d{1,4})?|\d{1,18}(?:[.,]\d{1,6})?"
# Values with spaces inside, in this order where two begin alike. Every repetition is bounded and every one begins at an edge of a
# word: so the time is linear.
_SPACED = {
    "code": r"(?<!`)`[^`\n]{1,200}`(?!`)",
    "quoted": r"(?<!\w)\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|„[^“”\n]{1,400}[“”]|(?<![\w'])'[^'\n]{1,200}'(?!\w)|‘[^’\n]{1,200}’(?!\w)",
    "date": rf"\b(?:{_DAY}\s(?:of\s)?{_MONTH}|{_MONTH}\s{_DAY})\b(?:,?\s(?:19|20)\d\d)?(?!\w)"
    rf"|\b(?:(?:next|last|this|coming)\s)?{_DAY_NAME}\b|\b\d{{1,2}}[./]\d{{1,2}}[./](?:\d{{4}}|\d{{2}})\b"
    r"|\b(?:today|tomorrow|yesterday|tonight)\b|\b(?:the\s)?\d{1,2}(?:st|nd|rd|th)\b",
    "time": rf"\b{_CLOCK}(?!\w)",
    "phone": r"(?<![\w+])\+[0-9][0-9 ()-]{5,18}[0-9](?!\w)|(?<![\w-])\(?\d{3}\)?[ -]\d{3}[ -]\d{4}(?![\w-])",
    "iban": r"\b[A-Z]{2}\d\d(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?\b",
    "amount": rf"(?<!\w)[$€£¥]\s?(?:{_NUMBER})(?:\s?(?:k|m|bn|million|thousand)\b)?|(?<![\w./-])(?:{_NUMBER})\s?(?:UNITS)(?!\w)",
    SELF: r"\bmy(?:self)?\b|\bmine\b|\b(?:do|have|am|did) I\b|\bI(?:['’]ve| have|['’]m| am)\b",
}
_HOST = r"(?:[a-z0-9-]{1,63}\.){1,6}"
# Values without a space: of these the first that is the whole token. The kinds of ontology.value_shape follow.
_TOKENS = {
    "url": r"(?:https?|ftp|s3|gs|git|ssh)://\S{1,250}|www\.\S{3,250}",
    "channel": r"#[A-Za-z][\w-]{1,79}",
    "handle": r"@[A-Za-z][\w.-]{1,63}",
    "file": r"(?:[\w.~-]{0,60}/){0,8}[\w()~-][\w().~+-]{0,99}\.(?:EXTENSIONS)",
    "branch": r"(?:release|feature|feat|fix|hotfix|bugfix|chore|refs/heads|origin)/[\w./-]{1,100}",
    "path": r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.~+{}:-]{1,80}){1,12}/?|[\w.~-]{1,80}(?:/[\w.~-]{1,80}){2,12}/?|[A-Za-z]:\\\S{1,200}",
    "repository": r"[A-Za-z0-9][\w.-]{0,38}/[\w.-]{2,100}",
    "variable": r"[A-Z][A-Z0-9]{0,39}(?:_[A-Z0-9]{1,40}){1,9}",
    "domain": rf"(?i:{_HOST}(?:DOMAINS))",
    "hex digest": r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}",
}
_IDENTIFIER = re.compile(r"[#_A-Za-z0-9][\w.:#+~=@/-]{1,199}")
# Text in backticks that is code, and not a name or words: a semicolon, a brace, an operator. ``{id}`` is a place in a path.
_CODE = re.compile(r"[;{}]|&&|\|\||[=!<>:+-]=|[=-]>|\s[=<>+*/%|&]\s")
_TEMPLATE = re.compile(r"\{\w+\}")
_TOKEN = re.compile(r"(?:/\{\w{1,60}\}|[^\s\"`<>()\[\]{},;|“”„‘’«»]){2,256}")
_LEADING, _TRAILING = "*~-=…'", ".:!?*~-=…'"
_POSSESSIVE = re.compile(r"['’]s?\Z")
_ORDINARY_IDENTIFIER = 4  # digits from which a bare number is an identifier rather than a count. Chosen, not tuned.
_LONG = 12  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedValue:
    """A value in a request."""

    # a key of KIND_SHAPES, or ``identifier``, ``quoted``, ``code``, ``file``, ``channel``, ``handle``, ``repository``,
    # ``branch``, ``variable``, ``domain``, ``time``, ``amount`` or SELF
    kind: str
    text: str  # the value as the request has it, with its quotation marks; ``request[start:end]``
    start: int  # its first character in the request
    end: int
    matches: tuple[ShapeMatch, ...] = ()  # the shapes of the snapshot that it has, the most specific first

    @property
    def content(self) -> str:
        """The text without quotation marks and the mark of a channel or handle."""
        return self.text[1:-1] if self.kind in ("quoted", "code") else self.text.lstrip("#@")


def find_values(text: str, shapes: ValueShapes | None = None) -> tuple[TypedValue, ...]:
    """Return the values in a request, in its order; no two overlap. It takes time linear in the length of the text.
    What has a specific one of ``shapes``, those of a snapshot, is an identifier, whatever it looks like otherwise."""
    spaced = list(islice(_spaced(text), MAX_VALUES))
    found = sorted((*spaced, *_between(text, spaced)), key=lambda value: value.start)[:MAX_VALUES]
    return tuple(found if shapes is None or not len(shapes) else _with_matches(text, found, shapes))


def _spaced(text: str) -> Iterator[TypedValue]:
    for match in _spaced_pattern().finditer(text):
        start, end = match.span()
        if match.lastgroup != "code" or _CODE.search(_TEMPLATE.sub("", match[0])):
            yield _value(str(match.lastgroup), text, start, end)
            continue
        # Words in backticks are what they are without them; several that are no value are a quoted text, which is not cut.
        inner = list(_spaced_pattern().finditer(text, start + 1, end - 1))
        said = text[start + 1 : end - 1].split()
        if inner or len(said) < 2 or any(map(kind_of_token, said)):
            yield from (_value(str(one.lastgroup), text, *one.span()) for one in inner)
        else:
            yield _value("quoted", text, start, end)


def _between(text: str, taken: Sequence[TypedValue]) -> Iterator[TypedValue]:
    """Yield the values without a space that overlap none of those."""
    others = iter(taken)
    other = next(others, None)
    for token in _TOKEN.finditer(text):
        while other is not None and other.end <= token.start():
            other = next(others, None)
        if other is not None and other.start < token.end():
            continue
        value = _POSSESSIVE.sub("", token[0].rstrip(_TRAILING))
        start = token.start() + len(value) - len(value.lstrip(_LEADING))
        value = value.lstrip(_LEADING)
        if kind := kind_of_token(value):
            yield _value(kind, text, start, start + len(value))


def kind_of_token(token: str) -> str:
    """The kind of a text without a space; empty for a word."""
    if token.isalpha() or len(token) < 2:
        return ""
    for kind, pattern in _token_patterns().items():
        if pattern.fullmatch(token) and not (kind == "repository" and not _is_repository(token)):
            return kind
    kind = kind_of_value(token)
    if kind == "integer":
        is_year = len(token) == 4 and token[:2] in ("19", "20")
        return "identifier" if len(token) >= _ORDINARY_IDENTIFIER and not is_year else kind
    if kind and kind != "slug":
        return kind
    # Digits that are no count: several, with letters or marks between, as in ``PO-4711``; or one in a long token that is
    # no name, as in ``AKIAIOSFODNN7EXAMPLE`` and ``cus_NffrFeUfNV2Hib``.
    few = 1 if len(token) >= _LONG and not token.islower() else 2
    has_digits = sum(map(str.isdigit, token)) >= few and not token.isdigit()
    return "identifier" if has_digits and _IDENTIFIER.fullmatch(token) else ""


def _is_repository(token: str) -> bool:
    owner, _, name = token.partition("/")
    if token.lower() in _word_set("slashed_words") or min(len(owner), len(name)) < 2:
        return False
    return not any(map(str.isdigit, owner)) and (owner.islower() or any(one in "-_.0123456789" for one in token))


def _with_matches(text: str, found: Sequence[TypedValue], shapes: ValueShapes) -> list[TypedValue]:
    """Add the shapes of the snapshot; a value that only the snapshot knows is an identifier."""
    by_span: dict[tuple[int, int], list[ShapeMatch]] = {}
    for match in shapes.match(text):
        by_span.setdefault((match.start, match.end), []).append(match)
    kept = [replace(value, matches=tuple(by_span.pop((value.start, value.end), ()))) for value in found]
    taken = {at for value in kept for at in range(value.start, value.end)}
    for (start, end), matches in by_span.items():
        if taken.isdisjoint(range(start, end)):
            kept.append(_value(matches[0].shape.kind or "identifier", text, start, end, matches))
            taken.update(range(start, end))
    return sorted(kept, key=lambda value: value.start)


def _value(kind: str, text: str, start: int, end: int, matches: Sequence[ShapeMatch] = ()) -> TypedValue:
    return TypedValue(kind=kind, text=text[start:end], start=start, end=end, matches=tuple(matches))


@cache
def _word_set(key: str) -> frozenset[str]:
    return frozenset(read_yaml(VALUE_WORDS)[key].split())


def _any_of(entries: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(entries, key=lambda entry: (-len(entry), entry))))


@cache
def _spaced_pattern() -> re.Pattern[str]:
    units = _any_of(_word_set("units"))
    parts = (f"(?P<{kind}>{pattern.replace('UNITS', units)})" for kind, pattern in _SPACED.items())
    return re.compile("|".join(parts), re.IGNORECASE)


@cache
def _token_patterns() -> dict[str, re.Pattern[str]]:
    extensions = _any_of(map(str, read_yaml(VALUE_WORDS)["extensions"]))
    domains = _any_of(_word_set("top_level_domains"))
    return {
        kind: re.compile(pattern.replace("EXTENSIONS", extensions).replace("DOMAINS", domains))
        for kind, pattern in _TOKENS.items()
    }


# Index terms that say that an input identifies something, and not what. Chosen, not tuned.
IDENTIFIER_WORDS = frozenset("id identifier uuid guid arn key name number no code slug handle login".split())


@dataclass(frozen=True, slots=True)
class _Name:
    words: tuple[str, ...]  # all of them, in the singular
    terms: tuple[str, ...]  # those that are no stop words
    stop_words: frozenset[str]  # the others: what tells ``travel_from`` from ``travel_to``


@lru_cache(maxsize=10_000)  # each name of the caller is compared with every input of the answer
def _name(name: str) -> _Name:
    found = words(name)
    return _Name(tuple(map(noun_lemma, found)), tuple(terms(name)), STOP_WORDS.intersection(found))


def known_value(have: Mapping[str, str], parameter: str) -> str | None:
    """The value of an input, which may be empty; None where none is known. A name means an input of that name, whatever
    its spelling (``customerId``, ``customer_id``), and the input that identifies such an object (``customer``). Of
    several the one with all words of the input counts. ``parameter``: name of the input; a dotted path for a nested
    one."""
    if not have:
        return None
    wanted = _name(short_name(parameter))
    identified = tuple(term for term in wanted.terms if term not in IDENTIFIER_WORDS)
    said = {name: _name(name) for name in have}
    exact = (name for name, its in said.items() if its.words == wanted.words != ())
    meant = (
        name
        for name, its in said.items()
        if its.terms
        and its.terms in (wanted.terms, identified)
        # words such as "from" and "to" may be left out, not exchanged
        and (not its.stop_words or not wanted.stop_words or its.stop_words == wanted.stop_words)
    )
    found = next(chain(exact, meant), None)
    return None if found is None else have[found]


def short_name(parameter: str) -> str:
    """The name of an input without the path of a nested field, in one piece."""
    return "_".join(parameter.replace("[]", "").rpartition(".")[2].split()) or parameter
