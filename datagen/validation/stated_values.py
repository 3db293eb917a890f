"""Stated values: what a request says that could be put into an input, found by its form alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ontology.names import is_word, noun_lemma

__all__ = ["KINDS", "Stated", "is_known", "kind_of", "stated_values"]

KINDS = ("url", "email", "quoted", "money", "percent", "time", "date", "id", "number", "name")
"""Kinds of stated values; of two that overlap, the earlier kind holds."""

_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_DAYS = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?"
_COUNTED = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety|hundred|"
    r"thousand|million|dozen|half|couple|both|twice|double|zero|single)"
)
_UNITS = r"(?:seconds?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|quarters?|years?|nights?|fortnights?|weekends?)"
_CURRENCY = r"(?:eur(?:os?)?|usd|gbp|pln|chf|jpy|sek|cad|aud|dollars?|bucks|pounds?|quid|zlot(?:y|ys|ych)|francs?|yen|rupees?|inr|cny|yuan)"
_AMOUNT = r"\d(?:[\d,.']| (?=\d{3}\b))*\d|\d"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)"
_PERIOD = rf"(?:{_UNITS}|{_DAYS}|{_MONTHS}|spring|summer|autumn|fall|winter|christmas|easter|morning|afternoon|evening|period)"
_DATE = "|".join(
    (
        r"\d{4}-\d\d?-\d\d?(?:t[\d:.]+z?)?|\d{4}-\d\d(?!\d)|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}/\d{1,2}(?!\d)",
        rf"(?:\d{{1,2}}(?:st|nd|rd|th)?(?:[-–]\d{{1,2}}(?:st|nd|rd|th)?)?(?: of)? {_MONTHS}|{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?)(?!\d)(?:,? \d{{4}})?",
        rf"{_MONTHS},? \d{{4}}",
        rf"(?:the )?{_ORDINAL}(?! (?:floor|level|line|item|one|quarter|time))",
        r"today|tonight|tomorrow|yesterday|now|overnight|asap|straight away|right away|immediately|so far|year[- ]to[- ]date|ytd",
        rf"(?:next|this|last|past|coming|previous|current|following|every|each|the rest of the|end of(?: the)?|start of(?: the)?|beginning of(?: the)?|mid)[ -](?:(?:\d+|{_COUNTED}|few|fiscal|financial|business|calendar|working) )?{_PERIOD}",
        rf"(?:(?:\d+|an?|{_COUNTED}|few|several) )(?:working |business )?{_UNITS}(?: ago| from now| time)?",
        r"(?:q[1-4]|h[12])(?: (?:of )?(?:\d{4}|this year|last year))?|(?:fy|cw|kw|weeks?) ?\d{1,4}|(?:19|20)\d\d",
        rf"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|{_DAYS}(?= (?:morning|afternoon|evening|at|\d))",
        r"january|february|april|june|july|august|september|october|november|december|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)(?='s|\.|,| |$)",
        r"(?<=in )may|(?<=of )may|(?<=since )may|(?<=until )may|(?<=by )may|(?<=in )march|(?<=of )march|(?<=since )march|(?<=until )march|(?<=by )march",
    )
)
_TIME = (
    r"\d{1,2}(?:[:.]\d\d)? ?(?:am|pm|a\.m\.|p\.m\.|o'clock)|\d{1,2}:\d\d(?::\d\d)?|noon|midnight|lunchtime|"
    r"(?<=at )(?:half past )?(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?! \w+s\b)"
)
_FORMS = re.compile(
    # No value begins inside a word: saying so first spares trying all forms at each letter.
    r"(?<!\w)(?:"
    + "|".join(
        (
            r"(?P<url>https?://\S+|www\.\S+)",
            r"(?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)",
            r"(?P<quoted>\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|(?<![\w])['‘][^'’\n]{2,200}['’](?![\w]))",
            rf"(?P<money>[$€£¥₹] ?(?:{_AMOUNT})(?: ?(?:k|m|mn|bn|thousand|million|billion|grand))?\b"
            rf"|(?<![\w-])(?:{_AMOUNT}) ?(?:(?:k|m|mn|bn|thousand|million|billion|grand) ?)?{_CURRENCY}\b|\b{_CURRENCY} ?(?:{_AMOUNT})(?: ?[km]\b)?"
            rf"|(?<![\w-])\d[\d,.]*(?:k|m|mn|bn)\b|\b{_COUNTED}(?: {_COUNTED})* (?:{_CURRENCY}|grand)\b)",
            r"(?P<percent>\d[\d.,]* ?(?:%|percent\b|per cent\b|pct\b))",
            rf"(?<![\w-])(?P<time>{_TIME})(?![\w-])",
            rf"(?<![\w-])(?P<date>{_DATE})(?![\w-])",
            r"(?P<id>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{20,}\b|\b(?=[\w/.-]*\d)(?=[\w/.-]*[a-z])[a-z0-9]+(?:[-_/.:][a-z0-9]+)*\b|(?<=#)\d+\b"
            r"|\b\d+(?:[-_/]\d+)+\b|\b\d{4,}\b(?![,.]\d))",
            rf"(?P<number>(?<![\w-])(?:\d{{1,3}}(?:[,.']\d{{3}})+(?:\.\d+)?|\d+(?:[.,]\d+)?)(?![\w])|\b{_COUNTED}\b)",
        )
    )
    + ")",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    r"^\d+(?:[.,]\d+)?(?:x|h|hrs?|mins?|kg|g|mm|cm|km|l|kw|v|gb|tb|mb|pcs?|m2|ft|bar|days?|d|st|nd|rd|th|ish|s)$", re.I
)
_NAME = re.compile(r"[^\W\d_][\w'’&-]*[^\W_]|[^\W\d_]")
_OPENS = re.compile(r"(?:^|[.?!:;\n(–—-]\s*|[\"“‘]\s*)$")
_NOT_NAMES = frozenset(
    "i i'm i'd i've i'll i’m i’d i’ve i’ll ok okay hi hello hey dear thanks thank please pls eur usd gbp pln mr mrs ms dr re fyi".split()
)
_FUNCTION = frozenset(
    """a about above after again against all also although am an and any anybody anyone anything are around as at away back
    be because been before being below between both but by can cannot could did do does doing done down during each either
    else enough even ever every everybody everyone everything few for from further get had has have having he her here hers
    herself him himself his how however i if in into is it its itself just kindly least less let like many may maybe me
    might mine more most much must my myself neither never no nobody none nor not nothing now of off often ok okay on once
    one only onto or other others otherwise our ours ourselves out over own per perhaps please pls plus quite rather really
    same shall she should since so some somebody someone something soon still such than that the their theirs them
    themselves then there these they thing this those though through thru till to today together tomorrow too towards twice
    under unless until up upon us very via was we well were what whatever when whenever where wherever whether which
    whichever while who whoever whole whom whose why will with within without would yes yesterday yet you your yours thx
    cheers gonna wanna gotta asap fyi btw hi hello hey thanks thank dear im dont cant isnt whats wheres whos hows theres
    ive id ill youre theyre its lets""".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """A value in a request.

    :param kind: one of :data:`KINDS`.
    :param start: where it begins in the text; ``end`` is past its last character.
    """

    kind: str
    text: str
    start: int
    end: int


def stated_values(text: str) -> tuple[Stated, ...]:
    """The values that a request says, in its order, none overlapping another."""
    found = [value for match in _FORMS.finditer(text) if (value := _typed(match, text)) is not None]
    return tuple(sorted((*found, *_names(text, found)), key=lambda value: value.start))


def kind_of(value: str) -> str:
    """The kind of a value on its own, when all of it is of one kind; else empty.

    >>> kind_of("EUR 250"), kind_of("3 March"), kind_of("around noon")
    ('money', 'date', '')
    """
    stripped = value.strip()
    match = _FORMS.match(stripped)
    if match is None or match.end() < len(stripped):
        return ""
    typed = _typed(match, stripped)
    return typed.kind if typed is not None else ""


def _typed(match: re.Match[str], text: str) -> Stated | None:
    kind, start, end = match.lastgroup or "", match.start(), match.end()
    said = match[0]
    if kind == "id":
        if _MEASURED.match(said):
            kind = "number"
        elif said.isdigit() and not text[:start].endswith("#") and _counts(said, text[end:]):
            kind = "number"
    if kind == "date" and (said.lower() == "now" or _is_first_name(said, text[end:])):
        return None
    return Stated(kind=kind, text=said, start=start, end=end)


def _is_first_name(word: str, after: str) -> bool:
    """Whether what looks like a month is a first name: a surname or a possessive follows (``Jan Kowalczyk``, ``April's``)."""
    return word[0].isupper() and word.isalpha() and re.match(r" [A-Z][a-z]|['’]s ", after) is not None


def _counts(digits: str, after: str) -> bool:
    """Whether digits count something: what follows them is a noun in the plural (``12000 units``)."""
    match = re.match(r" ([a-z]{3,})\b", after)
    return match is not None and match[1].endswith("s") and noun_lemma(match[1]) != match[1] and len(digits) < 6


def _names(text: str, taken: list[Stated]) -> list[Stated]:
    """Proper names: words with a capital where none is due, in a row with those beside them."""
    found: list[Stated] = []
    last = -2
    for match in _NAME.finditer(text):
        if any(value.start < match.end() and match.start() < value.end for value in taken):
            continue
        if not _is_name(match[0], at_start=bool(_OPENS.search(text[: match.start()][-4:]))):
            continue
        if found and match.start() - last <= 1:
            before = found.pop()
            found.append(
                Stated(kind="name", text=text[before.start : match.end()], start=before.start, end=match.end())
            )
        else:
            found.append(Stated(kind="name", text=match[0], start=match.start(), end=match.end()))
        last = match.end()
    return found


def _is_name(word: str, *, at_start: bool) -> bool:
    bare = word.lower().removesuffix("'s").removesuffix("’s")
    if bare in _FUNCTION or bare in _NOT_NAMES:
        return False
    if word[0].isupper():
        if word.isupper() and len(word) <= 5:
            return False
        return not at_start or not is_known(bare)
    return not is_known(bare) and len(bare) > 3


@lru_cache(maxsize=1 << 16)
def is_known(word: str) -> bool:
    """Whether a lower-case word is one that dictionaries list, in any form: what is not may well be a name."""
    if word in _FUNCTION or len(word) < 3:
        return True
    parts = [part for part in re.split(r"[-'’]", word) if part]
    if len(parts) > 1:
        return all(is_known(part) for part in parts)
    if any(
        word.endswith(end) for end in ("ly", "able", "ible", "less", "ness", "ive", "ful", "ish", "ous", "ed", "ing")
    ):
        return True
    return is_word(word)
