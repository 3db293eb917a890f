"""The values in a request: quoted text, dates, values with the form of a field, and names in capitals. No language model is needed for them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date

from ontology.names import is_word
from planners.query.dates.date_spans import date_spans
from planners.query.dates.read_range import MONTHS, DateOperator
from planners.query.parsing.domain_lexicon import FieldName, Lexicon
from planners.query.parsing.request_words import REQUEST_WORDS

__all__ = ["RequestValue", "masked", "request_values"]

_QUOTED = re.compile(r"(?<!\w)(?:\"([^\"\s][^\"]*)\"|“([^”\s][^”]*)”|'([^'\s][^']*)'|‘([^’\s][^’]*)’)(?!\w)")
_WORD = re.compile(r"[^\s,;]+")
_CAPITAL = f"[{''.join(filter(str.isupper, map(chr, range(0x10000))))}]"
_INITIAL = rf"(?:{_CAPITAL}\.)+(?= ?{_CAPITAL})|(?:Dr|Mr|Mrs|Ms|Prof|St)\.(?= {_CAPITAL})"
_INITIALS = re.compile(rf"(?:{_CAPITAL}\.){{2,}}")
_PART = rf"(?:{_INITIAL}|{_CAPITAL}[\w&+-]*(?:['’](?!s\b)\w+)?)"
_NAME = re.compile(
    rf"(?:(?<=\bthe )|(?<=\bcalled )|(?<=\bnamed )|(?<=\btitled )){_CAPITAL}[\w&+-]*(?: [a-z]+){{1,2}} \d+\b|"  # "the Jazz night 14", "called Piano recital 11"
    rf"\b{_PART}(?: (?:(?:of|de|van|der|la|du|the) (?={_CAPITAL}))*(?:{_PART}|\d+(?:['’](?!s\b)\w+)?))*"
)
_MONTH_NAMES = "|".join(name.title() for name in MONTHS.split("|"))
_MONTHS_AS_NAME = re.compile(  # April March is a person, unless the words before are those of a date
    r"(?<!\bin )(?<!\bon )(?<!\bof )(?<!during )(?<!since )(?<!until )(?<!\btill )(?<!before )(?<!after )(?<!through )(?<!between )"
    rf"\b(?:{_MONTH_NAMES}) (?:{_MONTH_NAMES})\b(?! \d)|"
    rf"(?:(?<=from )|(?<=by )|(?<=to )|(?<=with )|(?<=person )){_CAPITAL}\w+ (?:{_MONTH_NAMES})\b(?! \d)"
)
_NO_NAMES = REQUEST_WORDS["no_name"] | REQUEST_WORDS["asks"]
_SAYS = re.compile(r"\b(?:is|as|called|named|titled) (?:an? )?$")


@dataclass(frozen=True, slots=True)
class RequestValue:
    """A value in a request, with its characters.

    :param text: the value: without quotes, a date as written.
    :param fields: fields of which it has the form; empty for quoted text and names.
    :param op: of a date, the operator that its words say; else empty.
    """

    start: int
    end: int
    text: str
    kind: str  # quoted, date, shape, name
    fields: tuple[FieldName, ...] = ()
    op: DateOperator = "="


def request_values(request: str, words: Lexicon, today: date) -> list[RequestValue]:
    """Return the values of a request in their order; none overlaps another. Dates are left out where the domain has none."""
    found = [
        RequestValue(match.start(), match.end(), next(filter(None, match.groups())), "quoted")
        for match in _QUOTED.finditer(request)
    ]
    rest = _blank(request, found)
    if words.dates:
        found += [RequestValue(*match.span(), match[0], "name") for match in _MONTHS_AS_NAME.finditer(rest)]
        rest = _blank(request, found)
        found += [RequestValue(*span[:3], "date", op=span.op) for span in date_spans(rest, today)]
        rest = _blank(request, found)
    found += _shaped(rest, words)
    found += _names(_blank(request, found), words)
    return sorted(found, key=lambda value: value.start)


def masked(request: str, values: list[RequestValue]) -> str:
    """The request with as many characters, in which dates are blanks and values are names, so that a parser can read it."""
    text = list(request)
    for value in values:
        written = request[value.start : value.end]
        stand_in = "" if value.kind == "date" else _plain(written) if value.kind == "name" else "Alice"
        text[value.start : value.end] = stand_in[: value.end - value.start].ljust(value.end - value.start)
    return "".join(text)


def _plain(name: str) -> str:
    """A name without accents, of the same length: the model of English takes others for anything."""
    return "".join(unicodedata.normalize("NFD", char)[0] for char in name)


def _blank(request: str, values: list[RequestValue]) -> str:
    """The request with a mark at each value, so that no other value reaches over it."""
    text = request
    for value in values:
        text = text[: value.start] + ";" * (value.end - value.start) + text[value.end :]
    return text


def _shaped(text: str, words: Lexicon) -> list[RequestValue]:
    found = []
    for word in _WORD.finditer(text):
        written = word[0].rstrip(".?!):").lstrip("(")
        first = word.start() + len(word[0]) - len(word[0].lstrip("("))
        shapes = [shape for shape in words.shapes if shape.pattern.fullmatch(written)]
        if shapes and not _INITIALS.fullmatch(word[0]):
            best = tuple(shape.field for shape in shapes if shape.literals == shapes[0].literals)
            value = written.lstrip(".") if shapes[0].pattern.pattern.startswith(r"\.") else written
            found.append(RequestValue(first, first + len(written), value, "shape", best))
    return found


def _names(text: str, words: Lexicon) -> list[RequestValue]:
    found = []
    for match in _NAME.finditer(text):
        start, name = match.start(), match[0]
        while name and _no_name(
            name.split()[0],
            words,
            alone=name.split()[0] == name and text[start + len(name) :][:1] not in ("'", "’"),
            first=not text[:start].strip(),
            said=_SAYS.search(text[:start]) is not None,
        ):
            rest = name.partition(" ")[2]
            start += len(name) - len(rest)
            name = rest
        unit = len(name) < 4 and name.isupper() and re.search(r"\d $", text[:start])  # 1 MB
        if name and not name.isdigit() and not unit:
            found.append(RequestValue(start, start + len(name), name, "name"))
    return found


def _no_name(word: str, words: Lexicon, *, alone: bool, first: bool, said: bool) -> bool:
    low = word.casefold()
    if said and low not in _NO_NAMES:
        return False
    known = low in words.values or low.rstrip("s") in words.nouns or (alone and first and is_word(low))
    return low in _NO_NAMES if not (alone or first) else low in _NO_NAMES or known
