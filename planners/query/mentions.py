"""What a request mentions: values (quoted, dates, of the form of a field, names), nouns of the domain, and the user.

Values need no language model; nouns are read from spaCy's parse of the request in which values are masked. Each mention becomes a
variable of the query graph, or part of one.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ontology.errors import InvalidArgumentError
from ontology.files import read_yaml
from ontology.names import is_noun, is_word, noun_lemma
from planners.query.dates import DateSpan, date_spans
from planners.query.domain import Domain
from planners.query.numbers import NUMBER, number_of
from planners.query.query_graph import FindNames

_T = TypeVar("_T")
_TEXTS: Mapping[str, str] = read_yaml(Path(__file__).parent / "request_words.yaml")
# The closed lists of English words of the reader: name of a list → its words, in lower case
WORDS: Mapping[str, frozenset[str]] = {name: frozenset(text.split()) for name, text in _TEXTS.items()}

_PLACES = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
ORDINALS = {word: word for word in [*_PLACES, "last"]} | dict(zip("1st 2nd 3rd 4th 5th".split(), _PLACES, strict=False))
ORDINALS |= dict.fromkeys(("earliest", "oldest"), "first") | dict.fromkeys(("latest", "newest", "recent"), "last")
"""Word → the ordinal that it says."""


class EdgePhrase(NamedTuple):
    """A phrase of an edge: what stands between its ends."""

    left: str  # ``source``, ``target``, a noun that names the other end's entity, or empty where nothing is said
    middle: tuple[str, ...]  # lemmas of verbs and prepositions; ``'s`` for a possessive
    right: str  # likewise


class FieldName(NamedTuple):
    """A field of a type."""

    kind: str
    field: str


class _Shape(NamedTuple):
    """The form of the values of a field."""

    pattern: re.Pattern[str]
    field: FieldName
    literals: int


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The vocabulary of one domain."""

    nouns: Mapping[str, tuple[str, ...]]  # words (lower case, singular) → the types that they may name
    verbs: Mapping[str, tuple[str, ...]]  # lemma → the types that it implies
    names: Mapping[str, str]  # type → its field that holds names
    field_words: Mapping[str, tuple[FieldName, ...]]  # phrase → fields that it names
    values: Mapping[str, tuple[FieldName, ...]]  # word → fields of which it is a value
    shapes: tuple[_Shape, ...]  # forms of values, the most specific first
    phrases: Mapping[tuple[str, str, str], tuple[EdgePhrase, ...]]  # (source type, edge, target type) → phrases
    about: Mapping[str, frozenset[str]]  # type → the words of its nouns and its description
    idioms: frozenset[tuple[str, ...]]  # verbs with a noun that names nothing ("take place")
    told: frozenset[str]  # the words of all phrases of edges
    topics: frozenset[str]  # words of fields that are searched for a text ("about")
    dated: Mapping[str, tuple[FieldName, ...]]  # types with a field that is a date, each with these fields
    user: str
    dates: str


def lexicon(domain: Domain) -> Lexicon:
    """Return the vocabulary of a domain."""
    nouns, verbs = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    field_words, values = defaultdict[str, list[FieldName]](list), defaultdict[str, list[FieldName]](list)
    shapes, names = list[_Shape](), dict[str, str]()
    for kind, entity in domain.types.items():
        for word in entity.words:
            verb = word.removeprefix("to ")
            *first, last = word.casefold().split()
            (nouns[" ".join([*first, noun_lemma(last)])] if verb == word else verbs[verb]).append(kind)
        for name, known in entity.fields.items():
            where = FieldName(kind, name)
            for word in known.words:
                if "*" in word or "#" in word:
                    pattern = "".join({"*": r"[^\s,;]+", "#": r"\d"}.get(char, re.escape(char)) for char in word)
                    literals = len(re.sub(r"[*#.]", "", word)) + word.count("#")
                    shapes.append(_Shape(re.compile(pattern, re.IGNORECASE), where, literals))
                else:
                    field_words[word.casefold()].append(where)
            for value in known.values:
                values[value.casefold().replace("_", " ")].append(where)
            if "named" in known.words and kind not in names:
                names[kind] = name
    said = [words.replace("{source} ", "").replace("{target} ", "") for edge in domain.edges for words in edge.words]
    fields = [field for entity in domain.types.values() for field in entity.fields.values()]
    kinds = {entity.kind: kind for kind, entity in domain.types.items()}
    return Lexicon(
        nouns=_fixed(nouns),
        verbs=_fixed(verbs),
        names=names,
        field_words=_fixed(field_words),
        values=_fixed(values),
        shapes=tuple(sorted(shapes, key=lambda shape: -shape.literals)),
        phrases={
            (edge.source, edge.name, target): tuple(map(_phrase, edge.words))
            for edge in domain.edges
            for target in edge.targets
        },
        idioms=frozenset(tuple(each.split()[:2]) for each in said if re.match(r"(?:take|be) [a-z]+\b", each)),
        topics=frozenset(word for field in fields if "contains" in field.operators for word in field.words),
        dated={
            kind: tuple(FieldName(kind, name) for name, field in entity.fields.items() if field.kind == "date")
            for kind, entity in domain.types.items()
            if entity.kind == "entity"
        },
        told=frozenset(word for each in said for word in each.split()),
        about={
            kind: frozenset(
                noun_lemma(word) for word in re.findall(r"[a-z]+", f"{entity.words} {entity.description}".lower())
            )
            for kind, entity in domain.types.items()
        },
        user=kinds.get("self", ""),
        dates=kinds.get("date", ""),
    )


def _fixed(found: Mapping[str, list[_T]]) -> dict[str, tuple[_T, ...]]:
    return {word: tuple(each) for word, each in found.items()}


def _phrase(words: str) -> EdgePhrase:
    tokens = words.replace("}'s", "} 's").split()
    left = tokens.pop(0).strip("{}") if tokens[0] in ("{source}", "{target}") else ""
    right = tokens.pop().strip("{}") if tokens and tokens[-1] in ("{source}", "{target}") else ""
    return EdgePhrase(left, tuple(tokens), right)


# What a request mentions.

_QUOTED = re.compile(r"(?<!\w)(?:\"([^\"\s][^\"]*)\"|“([^”\s][^”]*)”|'([^'\s][^']*)'|‘([^’\s][^’]*)’)(?!\w)")
_WORD = re.compile(r"[^\s,;]+")
_CAPITAL = f"[{''.join(filter(str.isupper, map(chr, range(0x10000))))}]"
_INITIAL = rf"(?:{_CAPITAL}\.)+(?= ?{_CAPITAL})|(?:Dr|Mr|Mrs|Ms|Prof|St)\.(?= {_CAPITAL})"
_INITIALS = re.compile(rf"(?:{_CAPITAL}\.){{2,}}")
_PART = rf"(?:{_INITIAL}|{_CAPITAL}[\w&+-]*(?:['’](?!s\b)\w+)?)"
_NAME = re.compile(rf"\b{_PART}(?: (?:(?:of|de|van|der|la|du|the) (?={_CAPITAL}))*(?:{_PART}|\d+(?:['’](?!s\b)\w+)?))*")
_NO_NAMES = WORDS["no_name"] | WORDS["asks"]
_SAYS = re.compile(r"\b(?:is|as|called|named|titled) (?:an? )?$")
_ASKED = re.compile(r"\b(?:do|does|did) $", re.IGNORECASE)
_STEPS = re.compile(
    rf"\b(?:within|in(?: at most)?|over|by|up to) ({NUMBER}|a|one) (?:\w+ )?(?:steps?|hops?)(?: or (?:fewer|less))?\b",
    re.I,
)
_MOST_WORDS = 4
_MOST_NAME_WORDS, _MOST_CANDIDATES = 6, 40
_NOMINAL = ("nsubj", "nsubjpass", "dobj", "pobj", "dative", "conj", "poss", "attr")


class RequestValue(NamedTuple):
    """A value in a request, with its characters."""

    start: int
    end: int
    text: str  # the value: without quotes, a date as written, a known name as the data has it; of steps, their number
    kind: str  # quoted, date, shape, name, known, steps
    # fields of which it has the form, or is a name; empty for quoted text and other names
    fields: tuple[FieldName, ...] = ()
    op: str = "="  # of a date, the operator that its words say


def request_values(
    request: str, words: Lexicon, today: date, names: FindNames | None, *, guess: bool
) -> list[RequestValue]:
    """Return the values of a request in their order; none overlaps another. Dates are left out where the domain has none.

    :param guess: whether what looks like a name is one, beside those that ``names`` finds.
    """
    found = [
        RequestValue(*match.span(), next(filter(None, match.groups())), "quoted") for match in _QUOTED.finditer(request)
    ]
    rest = _blank(request, found)
    if names:
        steps = () if guess else _STEPS.finditer(rest)
        found += [RequestValue(*match.span(), f"{number_of(match[1]) or 1:.0f}", "steps") for match in steps]
        known = _known(request, _blank(request, found), found, words, names, guess=guess)
        days = list[DateSpan]()
        with suppress(InvalidArgumentError):  # what cannot be read may be part of a name
            days += date_spans(rest, today) if guess else ()
        # A name may have a date in it ("Planning March 2025"), but not a part of one, nor be one.
        ends = [(day.start, day.end) for day in days]
        found = [
            each
            for each in known
            if not any(a < each.end and each.start < b and not (each.start < a and b <= each.end) for a, b in ends)
        ]
        rest = _blank(request, found)
    if words.dates or any(words.dated.values()):
        found += [RequestValue(*span[:3], "date", op=span.op) for span in date_spans(rest, today)]
        rest = _blank(request, found)
    found += _shaped(rest, words)
    found += _names(_blank(request, found), words) if guess else []
    return sorted(found)


def masked(request: str, values: list[RequestValue]) -> str:
    """The request with as many characters, in which dates are blanks and values are names, so that a parser can read it."""
    text = list(request)
    for value in values:
        written = request[value.start : value.end]
        # A name without accents, of the same length: the model of English takes others for anything.
        plain = "".join(unicodedata.normalize("NFD", char)[0] for char in written) if value.kind == "name" else "Alice"
        if value.kind == "known" and _ASKED.search(request[: value.start]):  # "does Alice supply" is misread
            plain = "she"
        stand_in = "" if value.kind in ("date", "steps") else plain
        text[value.start : value.end] = stand_in[: value.end - value.start].ljust(value.end - value.start)
    if {value.kind for value in values} & {"known", "name"} != {"known"}:
        return "".join(text)
    # "Both" says nothing that "and" does not, and is misread before verbs.
    return re.sub(r"\bboth\b(?=.* and )", "    ", "".join(text), flags=re.IGNORECASE)


def _blank(request: str, values: Sequence[RequestValue]) -> str:
    """The request with a mark at each value, so that no other value reaches over it."""
    for value in values:
        request = request[: value.start] + ";" * (value.end - value.start) + request[value.end :]
    return request


def _known(
    request: str, rest: str, found: Sequence[RequestValue], words: Lexicon, names: FindNames, *, guess: bool
) -> Iterator[RequestValue]:
    """The names that the data has, verbatim and longest first; what else is quoted stays as it is. Where names may be
    guessed too, texts need not look like one."""
    tokens = list(re.finditer(r"[^\s;?!()\"“”]+", rest))
    strange = [_is_strange(each[0], words) or (at > 0 and each[0] != each[0].lower()) for at, each in enumerate(tokens)]
    spans: dict[str, tuple[int, int]] = {}
    for size in range(min(_MOST_NAME_WORDS, len(tokens)), 0, -1):
        for at in range(len(tokens) - size + 1):
            start, end = tokens[at].start(), tokens[at + size - 1].end()
            likely = any(strange[at : at + 2]) or size == 1 if guess else strange[at] and strange[at + size - 1]
            text = re.sub(r"['’]s$", "", request[start:end].rstrip(".,:"))
            if (
                guess and size > 1 and tokens[at][0] in WORDS["before_names"]
            ):  # an event "from Jane" must not take "from"
                continue
            if likely and text and ";" not in rest[start:end]:
                spans.setdefault(text, (start, at))
    quoted = [each.text for each in found if each.kind == "quoted"]
    most = None if guess else _MOST_CANDIDATES
    chosen = list(dict.fromkeys([*quoted, *sorted(spans, key=_strangeness)[:most]]))
    known = names(chosen, quoted)
    taken: list[tuple[int, int]] = []
    for each in found:
        yield _named(request, each, known[each.text], words, guess=guess) if known.get(each.text) else each
    written = [each[0] for each in tokens]
    for text, (start, at) in spans.items():
        end, of = start + len(text), known.get(text)
        if not of or any(a < end and start < b for a, b in taken):
            continue
        if not guess or " " in text or _has_its_noun(written, at, text, {kind for kind, _ in of}, words):
            taken.append((start, end))
            yield _named(request, RequestValue(start, end, text, "name"), of, words, guess=guess)


def _has_its_noun(written: Sequence[str], at: int, text: str, types: set[str], words: Lexicon) -> bool:
    """Whether a noun of its type stands beside a word that is a name ("the folder Documents", "dentist appointments"), in
    small letters: one in capitals goes on with a name. Without one it may be any word, or a name of something else: of a friend, whom a folder is named after."""
    before, behind = written[at - 1 : at][-1:], written[at + 1 : at + 2] if written[at] == text else []
    beside = [each for each in (*before, *behind) if each == each.casefold() and not each.endswith((",", ":"))]
    forms = {form for each in beside for form in (each, noun_lemma(each))}
    return any(types & {*words.nouns[each]} for each in forms - _NO_NAMES if each in words.nouns)


def _strangeness(text: str) -> int:
    return -sum(char.isupper() or char.isdigit() or char in "_-'’" for char in text) + text.count(" ")


def _is_strange(word: str, words: Lexicon) -> bool:
    """Whether a word may be of a name: it has capitals or digits, or is a noun that the domain does not know."""
    bare = word.strip(".,:'’")
    low = bare.casefold()
    if low in _NO_NAMES | WORDS["light"] | WORDS["auxiliary"] | WORDS["excludes"] | WORDS["counts"]:
        return False
    if low in words.values or low in words.field_words or noun_lemma(low) in words.nouns or low in words.told:
        return False
    return bare != low or not low.isalpha() or not is_word(low) or is_noun(low)


def _named(
    request: str, value: RequestValue, of: Sequence[tuple[str, str]], words: Lexicon, *, guess: bool
) -> RequestValue:
    """A known name; the noun of its type before it is part of it ("the tool 'Book room'"), unless names may be guessed."""
    fields = tuple(FieldName(kind, words.names[kind]) for kind, _ in of if kind in words.names)
    start, before = value.start, list(re.finditer(r"\w+(?= )", request[: value.start]))
    for size in range(0 if guess else min(_MOST_WORDS, len(before)), 0, -1):
        *first, last = [each[0].casefold() for each in before[-size:]]
        types = words.nouns.get(" ".join([*first, noun_lemma(last)]), ())
        if own := tuple(each for each in fields if each.kind in types):
            article = size < len(before) and before[-size - 1][0].casefold() == "the"
            start, fields = before[-size - article].start(), own
            break
    return value._replace(start=start, text=of[0][1], kind="known", fields=fields)


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
        while name and _no_name(name, text[:start], text[start + len(name) :], words):
            rest = name.partition(" ")[2]
            start += len(name) - len(rest)
            name = rest
        unit = len(name) < 4 and name.isupper() and re.search(r"\d $", text[:start])  # 1 MB
        if name and not name.isdigit() and not unit:
            found.append(RequestValue(start, start + len(name), name, "name"))
    return found


def _no_name(name: str, before: str, behind: str, words: Lexicon) -> bool:
    """Whether the first word of what looks like a name is none: "Find", "Open orders", a noun of the domain that stands alone."""
    word, _, rest = name.partition(" ")
    low, alone, first = word.casefold(), not rest and behind[:1] not in ("'", "’"), not before.strip()
    if low in _NO_NAMES or _SAYS.search(before):
        return low in _NO_NAMES
    known = low in words.values or low.rstrip("s") in words.nouns or (alone and first and is_word(low))
    return known and (alone or first)


@dataclass(slots=True, eq=False)
class Mention:
    """One mention."""

    at: int  # index of its token; of a date, of the token before which it stands
    types: tuple[str, ...]  # the types that it may have, the likeliest first
    kind: str  # ``noun``, ``user``, ``value``, ``date``; ``implied`` where a verb or a noun only implies it
    word: str  # the noun, singular; of a value, the value
    # conditions on it: field, operator, value or values
    filters: list[tuple[str, str, Any]] = field(default_factory=list)
    ordinal: str = ""  # ``first``, ``second`` … ``last``, ``last 3``, or empty; ``beside`` are the tokens that say it
    beside: tuple[int, ...] = ()
    singular: bool = False
    fields: tuple[FieldName, ...] = ()
    tokens: tuple[int, ...] = ()
    likely: frozenset[str] = frozenset()  # of a name, the types that its words or the entity recogniser suggest
    number: int = 0  # how many of it are said; ``compared`` says how they are compared ("at least 15 parameters")
    compared: str = ""
    marks: set[str] = field(default_factory=set)  # of "no", "only", "each", "most", "fewest", those that are said of it
    others: list[str] = field(default_factory=list)  # further values, of which any may be meant ("Ann or Bob")

    @property
    def value(self) -> str | tuple[str, ...]:
        """Of a value: itself, or those of which any may be meant."""
        return (self.word, *self.others) if self.others else self.word


def find_mentions(doc: Any, values: Sequence[RequestValue], words: Lexicon, *, guess: bool) -> list[Mention]:
    """Return the mentions of a parsed request, in order. ``doc`` is spaCy's parse of the masked request; ``guess`` says
    whether what looks like a name or a topic is one, where the names of the data are not known."""
    found = [_value(value, doc, words, guess=guess) for value in values if value.kind != "steps"]
    taken = {at for each in found for at in each.tokens}
    verb = next((token for token in doc if token.lower_ not in WORDS["before"]), doc[0])
    at = 0
    while at < len(doc):
        mention = None if at in taken else _noun(doc, at, taken, words)
        if mention:
            shown = doc[mention.at].head.i == verb.i and verb.tag_ == "VB" and doc[mention.at].tag_ == "PRP"
            # A pronoun that only belongs to a command: "show me", "I want to know".
            command = shown or (mention.at < verb.i and verb.lower_ in WORDS["asks"])
            found += [] if mention.kind == "user" and command else [mention]
            at = mention.tokens[-1] + 1
        else:  # names of fields have several words: "purchase order"
            phrases = ((size, doc[at : at + size].text.casefold()) for size in range(_MOST_WORDS, 1, -1))
            at += next((size for size, phrase in phrases if phrase in words.field_words), 1)
    if guess:  # adjectives in capitals ("Polish") are no names
        adjectives = {each.start for each in doc.ents if each.label_ == "NORP" and doc[each.start].tag_ == "JJ"}
        found = [each for each in found if each.fields or each.kind != "value" or not adjectives & {*each.tokens}]
        found += _names_in_lower_case(doc, found, words)
    found.sort(key=lambda each: (each.at, each.kind != "date"))
    users = [each for each in found if each.kind == "user"]
    for other in users[1:]:  # "I" and "my" are one mention of the user
        users[0].tokens += other.tokens
        users[0].word = max(users[0].word, other.word, key=lambda word: word != "my")
    found = [each for each in found if each not in users[1:]]
    _ordinals(doc, found, several=guess)
    return found


def _names_in_lower_case(doc: Any, found: Sequence[Mention], words: Lexicon) -> list[Mention]:
    """Proper nouns without capitals, and topics: "emails from jane about budget"."""
    taken = {at for each in found for at in each.tokens}
    names = []
    for token in doc:
        first = list[int]()  # words of no language before a noun that belong to it: "jane" of "jane doe"
        for each in (doc[at] for at in range(token.i - 1, -1, -1)):
            if each.head.i != token.i or each.i in taken or not each.is_alpha or is_word(each.lower_) or each.is_stop:
                break
            first.append(each.i)
        strange = first or not is_word(token.lower_) or token.head.lower_ in words.topics
        unknown = token.pos_ == "NOUN" and token.dep_ == "pobj" and strange
        unknown = unknown and all(child.i in first or child.dep_ == "prep" for child in token.children)
        proper = token.pos_ == "PROPN" and token.dep_ in _NOMINAL
        if not (proper or unknown) or token.i in taken or not token.is_alpha:
            continue
        tokens = tuple(
            each.i
            for each in token.subtree
            if (each.pos_ == token.pos_ or each.i in first) and each.i <= token.i and each.i not in taken
        )
        name = " ".join(doc[at].text for at in tokens)
        if name.casefold() not in words.field_words:
            names.append(Mention(token.i, tuple(words.names), "value", name, tokens=tokens, singular=True))
    return names


def _value(value: RequestValue, doc: Any, words: Lexicon, *, guess: bool) -> Mention:
    if value.kind == "date":
        at = next((token.i for token in doc if token.idx >= value.end), len(doc))
        types = (words.dates,) if words.dates else ()
        return Mention(at, types, "date", value.text, filters=[("value", value.op, value.text)])
    tokens = [each for each in doc if each.idx < value.end and value.start < each.idx + len(each) and not each.is_space]
    inside = {token.i for token in tokens}
    root = next((token for token in tokens if token.head.i not in inside or token.head.i == token.i), tokens[-1])
    kinds = tuple(dict.fromkeys(each.kind for each in value.fields))
    known = guess and value.kind == "known"  # the name may be a topic too: its types are known, its field is not
    return Mention(
        root.i,
        kinds or tuple(words.names),
        "value",
        value.text,
        fields=() if known else value.fields,
        tokens=tuple(sorted(inside)),
        singular=True,
        likely=frozenset(kinds) if known else _likely(value, doc, words),
    )


def _likely(value: RequestValue, doc: Any, words: Lexicon) -> frozenset[str]:
    """The types that a word of a name says (a Kickoff Meeting), else those whose nouns explain the label of the recogniser."""
    named = set(words.names)
    said = {kind for word in value.text.casefold().split() for kind in words.nouns.get(noun_lemma(word), ())} & named
    if said or value.kind != "name":
        return frozenset(said)
    from spacy.glossary import GLOSSARY

    labels = {entity.label_ for entity in doc.ents if entity.start_char < value.end and value.start < entity.end_char}

    explained = {
        noun_lemma(word) for label in labels for word in re.findall(r"[a-z]+", str(GLOSSARY.get(label)).casefold())
    }
    return frozenset(kind for kind in named if explained & words.about[kind])


def _noun(doc: Any, at: int, taken: set[int], words: Lexicon) -> Mention | None:
    for size in range(min(_MOST_WORDS, len(doc) - at), 0, -1):
        tokens = doc[at : at + size]
        if any(token.i in taken for token in tokens):
            continue
        last = tokens[-1]
        start = "".join(token.lower_ + token.whitespace_ for token in tokens[:-1])
        whole = "".join(noun_lemma(token.lower_) + token.whitespace_ for token in tokens[:-1])  # "lines of business"
        last_forms = (last.lower_, noun_lemma(last.lower_), last.lemma_.casefold())
        forms = (*(start + form for form in last_forms), whole + last_forms[1])
        phrase = next((each for each in forms if each in words.nouns), "")
        if size > 1 and not phrase and start + last_forms[1] in words.field_words:
            return None
        idiom = at > 0 and (doc[at - 1].lemma_.casefold(), last.lower_) in words.idioms
        if not phrase or idiom or _is_no_noun(last, size):
            continue
        types = words.nouns[phrase]
        kind = "user" if types == (words.user,) else "noun"
        number = kind == "noun" and last.tag_ != "WP" and noun_lemma(last.lower_) == last.lower_
        return Mention(last.i, types, kind, phrase, singular=number, tokens=tuple(token.i for token in tokens))
    return None


def _is_no_noun(token: Any, size: int) -> bool:
    """Verbs ("to email"), and pronouns that only take up a noun again ("the person who")."""
    if token.tag_ in ("WP", "WDT", "WRB", "WP$"):
        climbing = token
        while climbing.head.i != climbing.i and climbing.dep_ not in ("ccomp", "pcomp"):
            if climbing.dep_ == "relcl":
                return bool(climbing.head.i < token.i)
            climbing = climbing.head
        return False
    asked = token.i > 0 and token.nbor(-1).tag_ == "WDT"  # "which trips to Lisbon did …" is misread as a verb
    nominal = asked or token.tag_.startswith("NN") or token.dep_ in _NOMINAL
    return size == 1 and token.pos_ in ("VERB", "AUX", "ADP", "SCONJ") and not nominal


def _ordinals(doc: Any, mentions: Sequence[Mention], *, several: bool) -> None:
    """Find "the second mail", "the last three mails", "my next meeting"; ``several`` says whether the domain has
    ordinals of several, and the next one from now on."""
    nouns = [each for each in mentions if each.kind == "noun"]
    taken = {at for each in mentions for at in each.tokens}
    for token in doc:
        ordinal = "first" if several and token.lower_ == "next" else ORDINALS.get(token.lower_)
        if not ordinal or token.i in taken:
            continue
        before = [each for each in nouns if each.at < token.i]
        adverb = token.lower_ in ("first", "last") and token.dep_ == "advmod" and token.head.pos_ in ("VERB", "AUX")
        after = next((each for each in nouns if token.i < each.tokens[0] <= token.i + 3), None)
        number = number_of(doc[token.i + 1].text) if token.i + 1 < len(doc) and doc[token.i + 1].like_num else None
        if number is not None and not (several and ordinal in ("first", "last") and after and number >= 1):
            continue  # elsewhere it is a limit
        chosen = (before[-1] if before and token.i > token.head.i else None) if adverb else after
        if chosen:
            chosen.ordinal = ordinal if number is None else f"{ordinal} {number:.0f}"
            chosen.beside = (token.i,) if number is None else (token.i, token.i + 1)
            chosen.marks.update({"next"} if token.lower_ == "next" else ())
