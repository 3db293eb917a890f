"""Statements → edges and filters of the domain: conditions beside nouns first, then the best-fitting phrase, then whatever joins what is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ontology.errors import InvalidArgumentError
from ontology.names import noun_lemma, verb_lemma
from planners.query.domain import Domain
from planners.query.mentions import EdgePhrase, FieldName, Lexicon, Mention
from planners.query.numbers import number_of

_WHOLE, _LAST, _VERB, _ANY = 4.0, 2.5, 1.5, 0.25
_ROLE = 4.5
_UNLIKELY = 1.5
_SURE = 3.0
_DOUBT = 0.75
_GOOD = 1.0  # less than a matching verb is no evidence for a second path

# Words between the name of a field and its value
BETWEEN = frozenset(
    "is are was = : of like the a an words word text phrase being as contains containing contain with includes including".split()
)
_CONTAINS = frozenset("contains containing contain includes including like".split())
_MOST_WORDS = 3
_COMPARED = {
    "at least": ">=", "no fewer than": ">=", "no less than": ">=", "a minimum of": ">=", "at most": "<=", "no more than": "<=",
    "up to": "<=", "a maximum of": "<=", "more than": ">", "over": ">", "above": ">", "fewer than": "<", "less than": "<", "under": "<",
    "below": "<", "exactly": "=", "only": "=", "just": "=",
}  # fmt: skip
_BEHIND = {"or more": ">=", "or fewer": "<=", "or less": "<="}
_MARKS = ("no", "only", "each", "most", "fewest")
_LESS = frozenset("less fewer lower smaller shorter lighter younger earlier cheaper".split())


class Link(NamedTuple):
    """An edge between two mentions, in the direction of the domain; ``marks`` as of a statement."""

    source: Mention
    edge: str
    target: Mention
    marks: frozenset[str] = frozenset()


class _Fit(NamedTuple):
    score: float
    link: Link
    types: tuple[str, str]


@dataclass(slots=True)
class Links:
    """Joins the mentions of one request."""

    domain: Domain
    words: Lexicon
    mentions: list[Mention]
    links: list[Link] = field(default_factory=list)  # the edges so far
    # values that became conditions, each with the mention that has it
    given: list[tuple[Mention, Mention]] = field(default_factory=list)
    assumed: list[Link] = field(default_factory=list)  # those of them that no phrase of the request says
    said: set[int] = field(default_factory=set)  # tokens that became a number, a comparison or a mark

    def read(self, statements: Sequence[Statement]) -> None:
        """Turn statements into links and filters, the surest first."""
        same: dict[Mention | None, Mention] = dict(pair for each in statements if (pair := self._unite(each)))
        united = [
            each._replace(left=same.get(each.left, each.left), right=same.get(each.right, each.right))
            for each in statements
        ]
        waiting = [each for each in united if not self._filter(each)]
        self._imply_by_nouns(waiting)
        while waiting:
            fits = [(fit.score - each.weight, -at, fit) for at, each in enumerate(waiting) if (fit := self._fit(each))]
            if not fits:
                return
            _, at, fit = max(fits, key=lambda each: each[:2])
            self._commit(fit, waiting.pop(-at).marks)

    def _commit(self, fit: _Fit, marks: frozenset[str] = frozenset()) -> None:
        source, target = fit.link.source, fit.link.target
        known = {link.edge for link in self.links if {link.source, link.target} == {source, target}}
        another = self.domain.extended and fit.score >= _SURE and fit.link.edge not in known
        if known and not another:  # another: "take and return the parameter"
            return
        if self.domain.extended and fit.types[0] == fit.types[1] and _GOOD <= fit.score < _LAST - _DOUBT:
            return  # a verb alone does not say which way it is meant
        source.types, target.types = (fit.types[0],), (fit.types[1],)
        self.links.append(fit.link._replace(marks=marks))
        if fit.score < _GOOD and "date" not in (source.kind, target.kind):
            self.assumed.append(self.links[-1])

    def _unite(self, statement: Statement) -> tuple[Mention, Mention] | None:
        """ "the Quality department", "the account owner is Jane", "files as attachments", "the account of the customer"."""
        left, middle, right = statement.left, statement.middle, statement.right
        if left is None or right is None or left is right or middle not in ((), ("be",), ("of",), ("as",)):
            return None
        for name, noun in ((left, right), (right, left)):
            if middle in ((), ("be",)) and name.kind == "value" and noun.kind == "noun" and self.give(noun, name):
                return name, noun
        nouns = left.kind == right.kind == "noun" and left in self.mentions and right in self.mentions
        edge = any(source in left.types and target in left.types for source, _, target in self.words.phrases)
        if not nouns or not set(left.types) & set(right.types) or middle == () or (middle == ("of",) and edge):
            return None
        lost, kept = sorted((left, right), key=lambda each: each.at, reverse=middle[-1:] == ("as",))
        self.unite(lost, kept)
        return lost, kept

    def give(self, noun: Mention, value: Mention) -> bool:
        """Make a value a condition on a mention, where a field of one of its types takes it."""
        named = [FieldName(kind, self.words.names[kind]) for kind in noun.types if kind in self.words.names]
        fits = [each for each in value.fields or named if each.kind in noun.types]
        if not fits or value not in self.mentions:
            return False
        self.restrict(noun, fits[0], "=", value)
        return True

    def restrict(self, noun: Mention, where: FieldName, op: str, value: Mention) -> None:
        """Make a value a condition on a mention."""
        noun.types = (where.kind,)
        noun.filters.append((where.field, op, value.value))
        self.mentions.remove(value)
        self.given.append((value, noun))

    def words_of(self, where: FieldName) -> tuple[str, ...]:
        """The words by which a request names a field."""
        return self.domain.types[where.kind].fields[where.field].words

    def operators(self, where: FieldName) -> tuple[str, ...]:
        """The operators of a field, the usual one first."""
        return self.domain.types[where.kind].fields[where.field].operators

    def _filter(self, statement: Statement) -> bool:
        """ "trips to Lisbon": a preposition that names a field."""
        left, middle, right = statement.left, statement.middle, statement.right
        if left is None or not middle or right is None or right.fields or right.kind != "value":
            return False
        if right not in self.mentions:
            return False
        fit = self._fit(statement)
        nouns = [each for each in reversed(self.mentions) if each.kind in ("noun", "implied") and each.at < right.at]
        others = [] if fit and fit.score >= _SURE else nouns
        for noun in (left, *others):
            for phrase in (" ".join(middle), middle[-1]) if noun is left else (middle[-1],):
                for where in self.words.field_words.get(phrase, ()):
                    if where.kind in noun.types:
                        self.restrict(noun, where, self.operators(where)[0], right)
                        return True
        return False

    def _fit(self, statement: Statement) -> _Fit | None:
        left, middle, right = statement.left, statement.middle, statement.right
        if left is None or left not in self.mentions:
            return None
        if right is None:  # "received": where nobody is named, the user is meant if the domain says so
            for (source, edge, target), phrases in self.words.phrases.items():
                said = EdgePhrase("source", middle[:1], "") in phrases
                if target == self.words.user and source in left.types and said:
                    user = next((each for each in self.mentions if each.kind == "user"), None)
                    if user is None:
                        user = Mention(left.at, (self.words.user,), "user", "")
                        self.mentions.append(user)
                    return _Fit(_WHOLE, Link(left, edge, user), (source, target))
            return None
        if right not in self.mentions or left is right:
            return None
        best = max(self._fits(left, middle, right), key=lambda fit: fit.score, default=None)
        if not middle or (best and best.score >= (_LAST if left.kind == "implied" else _SURE)):
            return best
        # The same said of another mention: parsers hang "to Mark" on "from Jane" in "mails from Jane to Mark".
        elsewhere = [
            fit._replace(score=fit.score - _DOUBT - (abs(other.at - right.at) * 0.02 + 0.3 * (other.at > right.at)))
            for other in self.mentions
            if other is not right
            for fit in self._fits(other, middle[-1:], right)
            if fit.score >= _LAST
        ]
        return max((best, *elsewhere), key=lambda fit: fit.score if fit else 0.0)

    def _fits(self, left: Mention, middle: tuple[str, ...], right: Mention) -> Iterator[_Fit]:
        for (source, edge, target), phrases in self.words.phrases.items():
            for first, second, ends in ((left, right, ("source", "target")), (right, left, ("target", "source"))):
                if source not in first.types or target not in second.types:
                    continue
                score = max((_score(phrase, middle, ends, (left, right)) for phrase in phrases), default=0.0)
                doubt = (
                    0.01 * (first.types.index(source) + second.types.index(target))
                    + _unlikely(first, source, self.words)
                    + _unlikely(second, target, self.words)
                )
                yield _Fit(max(score, _ANY) - doubt, Link(first, edge, second), (source, target))

    def reached(self, start: Mention) -> list[Mention]:
        """The mentions that links join to one, itself first."""
        found = [start]
        for each in found:
            found += [end for end in dict.fromkeys(end for _, end in self.around(each)) if end not in found]
        return found

    def around(self, mention: Mention) -> list[tuple[Link, Mention]]:
        """The links of a mention, each with its other end."""
        touching = [link for link in self.links if mention in (link.source, link.target)]
        return [(link, link.target if link.source is mention else link.source) for link in touching]

    def join(self, first: Mention, second: Mention) -> bool:
        """Join two mentions by the only sort of edge that their types allow, or through an entity between them."""
        fit = max(self._fits(first, (), second), key=lambda each: each.score, default=None)
        if fit:
            self._commit(fit)
            return True
        for kind, entity in self.domain.types.items():
            between = Mention(first.at, (kind,), "implied", "")
            ends = ((first, between), (between, second))
            if entity.kind == "entity" and all(any(True for _ in self._fits(a, (), b)) for a, b in ends):
                self.mentions.append(between)
                return self.join(first, between) and self.join(between, second)
        return False

    def unite(self, lost: Mention, kept: Mention) -> None:
        """Make two mentions of one type one variable."""
        kept.types = tuple(kind for kind in kept.types if kind in lost.types)
        kept.filters += lost.filters
        kept.ordinal = lost.ordinal or kept.ordinal
        self.mentions.remove(lost)
        ends = {lost: kept}
        moved = (Link(ends.get(a, a), edge, ends.get(b, b), marks) for a, edge, b, marks in self.links)
        self.links[:] = [each for each in dict.fromkeys(moved) if each.source is not each.target]

    def _imply_by_nouns(self, statements: Sequence[Statement]) -> None:
        """An attachment is one of a mail: a noun that says an edge implies its other end, unless that is mentioned beside it."""
        nouns = [each for each in self.mentions if each.kind == "noun" and not self.domain.extended]
        for mention in nouns:
            for (source, edge, target), phrases in self.words.phrases.items():
                for phrase in phrases:
                    if phrase.left or " ".join(phrase.middle[:-1]) != mention.word or not phrase.right:
                        continue
                    own, other = (target, source) if phrase.right == "source" else (source, target)
                    ends = [(one, two) for one, name, two in self.words.phrases if name == edge]
                    others = {pair[phrase.right == "target"] for pair in ends}
                    beside = any(
                        end is not None and end is not mention and end.kind != "value" and others & set(end.types)
                        for statement in statements
                        if mention in (statement.left, statement.right)
                        for end in (statement.left, statement.right)
                    )
                    known = any(link.edge == edge for link, _ in self.around(mention))
                    if own in mention.types and self.domain.types[other].kind == "entity" and not beside and not known:
                        found = Mention(mention.at, (other,), "implied", "")
                        self.mentions.append(found)
                        link = Link(found, edge, mention) if phrase.right == "source" else Link(mention, edge, found)
                        self._commit(_Fit(_ROLE, link, (source, target)))


def _unlikely(mention: Mention, kind: str, words: Lexicon) -> float:
    if mention.kind != "value" or mention.fields:
        return 0.0
    shaped = any(shape.field == (kind, words.names.get(kind)) for shape in words.shapes)  # names of files have a form
    return _UNLIKELY * (2 * shaped + (bool(mention.likely) and kind not in mention.likely))


def _score(
    phrase: EdgePhrase, middle: tuple[str, ...], ends: tuple[str, str], mentions: tuple[Mention, Mention]
) -> float:
    """How well a phrase fits a statement whose left and right ends are these ends of the edge."""
    if not phrase.left and phrase.right and len(phrase.middle) > 1:  # "the sender of the mail", "my manager"
        word = " ".join(phrase.middle[:-1])
        if mentions[0].word == word and ends[1] == phrase.right and middle == phrase.middle[-1:]:
            return _ROLE
        if mentions[1].word == word and ends[0] == phrase.right and middle in (("'s",), ()):
            return _ROLE
    if not middle or phrase.left not in ("", ends[0]) or phrase.right not in ("", ends[1]):
        return 0.0
    if phrase.middle == middle:
        return _WHOLE
    if phrase.left and phrase.right and phrase.middle == middle[-1:]:
        return _LAST
    return _VERB if phrase.middle[:1] == middle[:1] and middle[0] != "be" else 0.0


def read_conditions(doc: Any, links: Links) -> None:
    """Turn values, numbers and marks into conditions on the nouns beside them; the values are no mentions of their own any more."""
    _alternatives(doc, links)
    _named_fields(doc, links)
    for value in [each for each in links.mentions if each.kind == "value"]:  # behind a noun of its type
        nouns = (each for each in links.mentions if each.kind == "noun" and value.tokens[0] - 1 in each.tokens)
        clause = doc[value.at].dep_ == "nsubj" and doc[value.at].head.dep_ == "relcl"  # "the file Jane sent"
        if (noun := next(nouns, None)) and not clause:
            links.give(noun, value)
    _dates(doc, links)
    _value_words(doc, links)
    _numbers(doc, links)
    for each in links.mentions:  # "no tool", "only tools", "each line of business", "the most tools"
        if each.kind != "noun" or each.tokens[0] == 0:
            continue
        for before in (doc[each.tokens[0] - 1], *doc[each.at].lefts):
            mark = {"every": "each", "per": "each", "least": "fewest"}.get(before.lower_, before.lower_)
            if mark in (_MARKS if links.domain.extended else _MARKS[:1]) and before.i not in links.said:
                each.marks.add(mark)
                links.said.add(before.i)


def _alternatives(doc: Any, links: Links) -> None:
    """ "Ann, Bob or Cem": values of one kind with "or" between them are one with several."""
    values = [each for each in links.mentions if each.kind == "value"]
    for second in reversed(values):
        before = doc[second.tokens[0] - 1]
        first = max((each for each in values if each.tokens[-1] < before.i), key=lambda each: each.at, default=None)
        kinds = () if first is None else tuple(kind for kind in first.types if kind in second.types)
        if first is None or not kinds or bool(first.fields) != bool(second.fields):
            continue
        gap = [each.lower_ for each in doc[first.tokens[-1] + 1 : second.tokens[0]] if not each.is_space]
        if gap in (["or"], [",", "or"]) or (gap == [","] and second.others):
            first.types = kinds
            first.others = [second.word, *second.others]
            first.tokens += second.tokens
            links.mentions.remove(second)
            links.said.update(range(first.tokens[0], second.tokens[-1] + 1))


def _named_fields(doc: Any, links: Links) -> None:
    """ "whose name contains 'review'", "purchase order 4500012317", "emails about 'budget'"."""
    for value in [each for each in links.mentions if each.kind == "value"]:
        at, contains = value.tokens[0] - 1, False
        while at >= 0 and doc[at].lower_ in BETWEEN and not _phrase_before(doc, at, links):
            contains |= doc[at].lower_ in _CONTAINS
            at -= 1
        found = _phrase_before(doc, at, links)
        if not found:
            continue
        fields, first, last = found
        if doc[last].tag_ == "IN" and doc[last].lower_ in ("to", "in", "from", "on", "for"):
            continue  # these say edges more often: the statements decide
        fields = tuple(each for each in fields if not value.fields or each in value.fields)
        for where, noun in _nouns_with(fields, first, links):
            operators = links.operators(where)
            about = doc[last].tag_ in ("IN", "VBG") and doc[last].lower_ not in ("named", "called")
            op = "contains" if "contains" in operators and (contains or about) else operators[0]
            links.restrict(noun, where, op, value)
            break


def _phrase_before(doc: Any, at: int, links: Links) -> tuple[tuple[FieldName, ...], int, int] | None:
    """The longest name of a field that ends at a token, with its first and last token."""
    for first in range(max(0, at - _MOST_WORDS + 1), at + 1):
        *start, last = doc[first : at + 1]
        before = "".join(token.lower_ + token.whitespace_ for token in start)
        for form in (last.lower_, noun_lemma(last.lower_)):
            if before + form in links.words.field_words:
                return links.words.field_words[before + form], first, at
    return None


def _nouns_with(fields: Sequence[FieldName], before: int, links: Links) -> list[tuple[FieldName, Mention]]:
    """The mentions before a token that have one of the fields, the nearest first."""
    nouns = [each for each in links.mentions if each.kind == "noun" and each.at < before]
    nouns = nouns or [each for each in links.mentions if each.kind == "noun" and each.at > before]
    return [(where, noun) for noun in reversed(nouns) for where in fields if where.kind in noun.types]


def _dates(doc: Any, links: Links) -> None:
    """ "orders since March": a date that is a field of a noun; of several such fields the one whose words stand in the request."""
    words = {form for token in doc for form in (token.lower_, token.lemma_.casefold())}
    for when in [each for each in links.mentions if each.kind == "date"]:
        nouns = [each for each in links.mentions if each.kind == "noun"]
        for noun in sorted(nouns, key=lambda each: (each.at >= when.at, abs(each.at - when.at))):
            fields = [where for kind in noun.types for where in links.words.dated.get(kind, ())]
            said = [where for where in fields if words & {*" ".join(links.words_of(where)).split()}]
            edges = any(kind in noun.types and end == links.words.dates for kind, _, end in links.words.phrases)
            chosen = said or ([] if edges else fields)
            if len(chosen) > 1:
                problem = f"it does not say which date is meant: {' or '.join(where.field for where in chosen)}"
                raise InvalidArgumentError(problem, subject="request", remedy="Name it")
            if chosen:
                links.restrict(noun, chosen[0], when.filters[0][1], when)
            if chosen or edges:
                break
        else:
            if not when.types:
                problem = f'nothing that is named has a date, and the request says "{when.word}"'
                raise InvalidArgumentError(problem, subject="request", remedy="Leave it out")


def _value_words(doc: Any, links: Links) -> None:
    """Words that are values: "open orders", "files of type pdf", "which suppliers are blocked"."""
    taken = {at for each in links.mentions for at in each.tokens}
    for token in doc:
        word = token.lower_.lstrip(".")
        forms = (word, verb_lemma(word), noun_lemma(word)) if links.domain.extended else (word,)
        word = next((each for each in forms if each in links.words.values), word)
        fields = links.words.values.get(word, ())
        if not fields or token.i in taken:
            continue
        pair = f" {verb_lemma(token.lower_)} {doc[token.i + 1 : token.i + 2].text.casefold()} "
        if links.domain.extended and any(pair in phrase for edge in links.domain.edges for phrase in edge.words):
            continue  # "sold at" joins, also where "sold" is a property
        nouns = [each for each in links.mentions if each.kind == "noun"]
        after = [each for each in nouns if 0 < each.tokens[0] - token.i <= 3]
        before = [each for each in reversed(nouns) if each.at < token.i]
        named = [each for each in links.mentions if each.kind == "value" and 0 < each.tokens[0] - token.i <= 2]
        known = (*named, *after, *before)  # the novel "Rivers" is one thing
        found = next(((each, noun) for noun in known for each in fields if each.kind in noun.types), None)
        only = token.i > 0 and doc[token.i - 1].lower_ == "only" and links.domain.extended
        links.said.update({token.i - 1} if only else ())
        if found is None and (token.pos_ in ("NOUN", "PROPN") or links.domain.extended):  # "a pdf", "topics that write"
            found = fields[0], Mention(token.i, (fields[0].kind,), "noun", token.lower_, tokens=(token.i,))
            links.mentions.append(found[1])
            found[1].marks.update({"only"} if only else ())
        if found:
            where, noun = found
            noun.types = (where.kind,)
            field = links.domain.types[where.kind].fields[where.field]
            value: Any = next(each for each in field.values if each.casefold().replace("_", " ") == word)
            if field.kind == "boolean":
                nots = {each.i for each in doc[max(token.i - 2, 0) : token.i] if each.lower_ in ("not", "n't", "n’t")}
                value = not nots
                links.said.update(nots)
            noun.filters.append((where.field, "=", value))
            links.said.add(token.i)


def _numbers(doc: Any, links: Links) -> None:
    """ "at least 15 parameters", "three tools", "boats longer than 12 metres"."""
    taken = {at for each in links.mentions for at in each.tokens}
    for token in doc:
        number = number_of(token.text) if token.like_num and token.i not in taken else None
        if number is None:
            continue
        before = {doc[token.i - size : token.i].text.casefold(): size for size in (1, 2, 3) if token.i >= size}
        behind = doc[token.i + 1 : token.i + 3].text.casefold()
        op, first, last = _BEHIND.get(behind, ""), token.i, token.i + (2 if behind in _BEHIND else 0)
        for phrase, size in before.items():
            op, first = (_COMPARED[phrase], token.i - size) if phrase in _COMPARED else (op, first)
        comparative = doc[token.i - 2] if token.i > 1 and doc[token.i - 1].lower_ == "than" else None
        if not op and comparative is not None:
            op, first = "<" if comparative.lower_ in _LESS else ">", token.i - 2
        counted = next((each for each in links.mentions if each.kind == "noun" and each.tokens[0] == last + 1), None)
        if counted is not None and number == int(number) and links.domain.extended:
            counted.number, counted.compared = int(number), op
            links.said.update(range(first, last + 1))
            continue
        if not op:
            continue
        # The field that a comparison is of: named before it, or by the unit behind it.
        named = _phrase_before(doc, first - 1, links) or _phrase_before(doc, first - 2, links)
        everything = [FieldName(kind, name) for kind, entity in links.domain.types.items() for name in entity.fields]
        fields = [*(named[0] if named else ()), *(each for each in everything if _unit_of(doc, last + 1, each, links))]
        numbers = [each for each in fields if links.domain.types[each.kind].fields[each.field].kind == "number"]
        for where, noun in _nouns_with(numbers, first, links)[:1]:
            noun.types = (where.kind,)
            noun.filters.append((where.field, op, int(number) if number == int(number) else number))
            links.said.update(range(first, last + 2 if _unit_of(doc, last + 1, where, links) else last + 1))


def _unit_of(doc: Any, at: int, where: FieldName, links: Links) -> bool:
    """Whether a token is the unit of a field: a word of its own, or of its description."""
    known = links.domain.types[where.kind].fields[where.field]
    if known.kind != "number" or at >= len(doc) or not doc[at].is_alpha:
        return False
    said = {noun_lemma(word.strip(".,()").casefold()) for word in [*known.words, *known.description.split()]}
    return noun_lemma(doc[at].lower_) in said


# Statements, from a dependency parse: passives are turned round, relative clauses are given the noun that they take up, a verb joined by
# "and" the subject of the first.

_OBJECTS = ("dobj", "nsubjpass", "dative", "attr", "oprd", "csubjpass")
_PARTS = ("pobj", "pcomp")


class Statement(NamedTuple):
    """``left middle right``: Jane *send* email; email *from* Jane."""

    left: Mention | None  # None for nothing (a missing subject)
    middle: tuple[str, ...]
    right: Mention | None
    weight: float = 0.0  # doubt of the reading, subtracted from every score
    marks: frozenset[str] = frozenset()  # ``no`` where it is not so, ``only`` where nothing else is


@dataclass(slots=True)
class _Clause:
    """A verb with what it governs."""

    verb: Any
    lemma: tuple[str, ...]
    subjects: list[Mention] = field(default_factory=list)
    objects: list[Mention] = field(default_factory=list)
    parts: list[tuple[str, Mention]] = field(default_factory=list)
    passive: bool = False
    marks: frozenset[str] = frozenset()


class _Reader:
    """Reads one parsed request."""

    def __init__(self, doc: Any, mentions: list[Mention], words: Lexicon) -> None:
        self._doc, self.mentions, self._words = doc, mentions, words
        self._by_token = {at: mention for mention in mentions for at in mention.tokens}
        self._clauses: dict[int, _Clause] = {}

    def statements(self) -> Iterator[Statement]:
        for token in self._doc:
            if token.pos_ in ("VERB", "AUX") and token.dep_ not in ("aux", "auxpass") and token.i not in self._by_token:
                clause = self._clause(token)
                yield from (each._replace(marks=each.marks | clause.marks) for each in self._of_clause(clause))
            elif token.dep_ in ("prep", "agent"):
                head = None if token.head.pos_ in ("VERB", "AUX") else self._mention(token.head)
                parts = self._part_mentions(token) if head else []
                yield from (_joined(head, (), token.lower_, part) for part in parts if head and part is not head)
            elif token.dep_ == "poss" and (owner := self._mention(token)):
                owned = self._mention(token.head)
                if owned and owned is not owner:
                    yield Statement(owner, ("'s",), owned)
            elif token.dep_ in ("compound", "nmod", "amod", "npadvmod") and (part := self._by_token.get(token.i)):
                whole = self._by_token.get(token.head.i)
                if whole and whole is not part:
                    yield Statement(part, (), whole)

    def _mention(self, token: Any) -> Mention | None:
        """The mention of a noun, through "the name of …" and relative pronouns."""
        if token.i in self._by_token:
            return self._by_token[token.i]
        if token.tag_ in ("WDT", "WP", "WP$"):
            climbing = token
            while climbing.head.i != climbing.i and climbing.dep_ != "relcl":
                climbing = climbing.head
            if climbing.head.i != climbing.i and climbing.head.i < token.i:
                return self._mention(climbing.head)
        for child in token.children:
            if child.dep_ == "prep" and child.lower_ == "of":
                return next((found for part in child.children if (found := self._mention(part))), None)
        return None

    def _all(self, token: Any) -> list[Mention]:
        """The mentions of a noun and of those joined to it by "and"."""
        found = [self._mention(each) for each in (token, *(each for each in token.conjuncts if each.i > token.i))]
        return [each for each in found if each]

    def _clause(self, verb: Any) -> _Clause:
        if verb.i in self._clauses:
            return self._clauses[verb.i]
        clause = self._clauses[verb.i] = _Clause(verb, (verb.lemma_.casefold(),))
        clause.passive = any(child.dep_ in ("auxpass", "nsubjpass") for child in verb.children)
        negated = any(child.dep_ == "neg" and child.i != verb.i for child in verb.children)
        exclusive = any(child.lower_ == "only" and child.dep_ == "advmod" for child in verb.children)
        clause.marks = frozenset({"no"} if negated else ()) | frozenset({"only"} if exclusive else ())
        stranded = None
        for child in verb.children:
            if child.dep_ == "nsubj":
                clause.subjects += self._all(child)
            elif child.dep_ in ("acomp", "oprd") and child.pos_ in ("ADJ", "ADV"):
                clause.lemma = (*clause.lemma, child.lower_)
            elif (child.dep_ in _OBJECTS and child.dep_ != "dative") or (
                child.dep_ == "dative" and child.pos_ != "ADP"
            ):
                clause.objects += self._all(child)
            elif child.dep_ in ("prep", "agent", "dative"):
                parts = self._part_mentions(child)
                if child.dep_ == "agent" or (child.lower_ == "by" and clause.passive):
                    clause.subjects += parts
                else:
                    clause.parts += [(child.lower_, part) for part in parts]
                    stranded = child.lower_ if not any(each.dep_ in _PARTS for each in child.children) else stranded
        if not clause.subjects and not clause.passive and len(clause.objects) > 1 and clause.objects[0].at < verb.i:
            clause.subjects.append(clause.objects.pop(0))  # "which books cite …", misread
        self._gap(verb, clause, stranded)
        return clause

    def _part_mentions(self, preposition: Any) -> list[Mention]:
        return [found for part in preposition.children if part.dep_ in _PARTS for found in self._all(part)]

    def _gap(self, verb: Any, clause: _Clause, stranded: str | None) -> None:
        """Fill in what a relative clause takes up, and the subject of a verb joined to another."""
        if verb.dep_ == "acl" and (head := self._mention(verb.head)):
            if verb.tag_ == "VBN":
                clause.passive = True
                clause.objects.insert(0, head)
                by = [part for name, part in clause.parts if name == "by"]
                clause.subjects += by
                clause.parts = [part for part in clause.parts if part[0] != "by"]
            else:
                clause.subjects.insert(0, head)
        elif verb.dep_ == "relcl" and (head := self._mention(verb.head)):
            known = [*clause.subjects, *clause.objects, *(part for _, part in clause.parts)]
            if head not in known:
                if not clause.subjects and not clause.passive:
                    clause.subjects.insert(0, head)
                elif stranded:
                    clause.parts.append((stranded, head))
                else:
                    clause.objects.insert(0, head)
        elif verb.dep_ == "conj" and verb.head.pos_ in ("VERB", "AUX") and not clause.subjects:
            first = self._clause(verb.head)
            clause.subjects += first.objects if first.passive and not first.subjects else first.subjects
            if any(child.lower_ in ("it", "them") and child.dep_ == "dobj" for child in verb.children):
                clause.objects += first.objects
        if clause.subjects and not clause.objects and not clause.parts:  # "take and return the parameter"
            for child in verb.children:
                if child.dep_ == "conj" and child.pos_ == "VERB":
                    clause.objects += [each for each in self._clause(child).objects if each not in clause.subjects]

    def _of_clause(self, clause: _Clause) -> Iterator[Statement]:
        lemma, verb = clause.lemma, clause.verb
        if verb.i == self._doc[0].i and not clause.subjects and verb.dep_ == "ROOT":
            # What "Find …" governs belongs to the first thing to be found.
            things = [each for each in clause.objects if each.kind != "user"][:1]
            for preposition, part in clause.parts:
                yield from (_joined(each, (), preposition, part) for each in things)
            return
        if implied := self._implied(clause):
            yield from (Statement(each, lemma, implied) for each in clause.subjects if each is not implied)
            yield from (Statement(implied, lemma, each) for each in clause.objects if each is not implied)
            for name, part in clause.parts:
                things = [each for each in clause.objects if each is not implied] if name == "as" else [implied]
                middle = () if name == "as" else lemma
                yield from (_joined(each, middle, name, part) for each in things if part is not each)
            if not clause.subjects:
                yield Statement(implied, lemma, None)
            return
        for subject in clause.subjects:
            for each in clause.objects:
                yield Statement(subject, lemma, each)
        for preposition, part in clause.parts:
            if preposition in ("without", "as"):
                yield from (_joined(each, (), preposition, part) for each in clause.objects or clause.subjects)
                continue
            for each in clause.objects:
                yield Statement(each, (*lemma, preposition), part)
            for each in clause.subjects:
                yield Statement(each, (*lemma, preposition), part, 0.5 if clause.objects else 0.0)

    def _implied(self, clause: _Clause) -> Mention | None:
        """The entity that a verb implies: one that is mentioned beside it, else a new one."""
        types = self._words.verbs.get(clause.lemma[0], ())
        if not types:
            return None
        beside = [*clause.objects, *(part for _, part in clause.parts), *(() if clause.passive else clause.subjects)]
        found = next((each for each in beside if each.kind == "noun" and set(each.types) & set(types)), None)
        # "Met at the Summit", but not "met at Grand Hotel" or "met in Rome".
        for name, part in clause.parts if found is None else ():
            if part.kind == "value" and found is None:
                article = part.tokens[0] > 0 and self._doc[part.tokens[0] - 1].lower_ == "the"
                if set(part.likely) & set(types) if part.likely else article and name in ("at", "in"):
                    found = part
        if found is None:
            found = Mention(clause.verb.i, types, "implied", clause.lemma[0])
            self.mentions.append(found)
        return found


def _joined(left: Mention, verb: tuple[str, ...], preposition: str, right: Mention) -> Statement:
    """A statement with a preposition; without is not with."""
    if preposition == "without":
        return Statement(left, (*verb, "with"), right, marks=frozenset({"no"}))
    return Statement(left, (*verb, preposition), right)


def read_statements(doc: Any, mentions: list[Mention], words: Lexicon) -> list[Statement]:
    """Return the statements of a parsed request; mentions that verbs imply are added to the list of mentions."""
    return list(_Reader(doc, mentions, words).statements())
