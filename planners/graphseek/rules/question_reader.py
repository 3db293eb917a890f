"""Reads a question into what the rules can plan: general forms of types, names, conditions and relation words, in the order of the text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from ontology.names import noun_lemma
from planners.graphseek.rules.phrase_lexicon import Lexicon, PropertyOf, TypeOf
from planners.graphseek.rules.question_cues import Bound, Top
from planners.graphseek.rules.question_mentions import Mention, Mentions, mentions_of
from planners.graphseek.rules.question_reading import Condition, Counted, Kind, Rank, Reading, Relation, Stop, When

__all__ = ["UnreadableError", "read_question"]

_PLACES = frozenset("in at within inside from on".split())
_PLAN = "plan or actual"
_GAP = re.compile(r"[\s'\"“‘,]*(?:of|named|called|the)?[\s'\"“‘]*")  # between a type and the name of one
_IS_A = re.compile(r"\s*(?:is|was|are) (?:an?|the)\s*")
_YES_NO = re.compile(r"(?:is|are|was|were|does|do|has|have) ", re.IGNORECASE)
_SORT_OF = re.compile(r"\b(?:type|kind|sort)(s?) of (?:\w+ )?$")
_MOST_GAP = 40  # characters between a superlative or bound and what it is of


class UnreadableError(Exception):
    """A question that the rules cannot read; the text says what."""


def read_question(question: str, lexicon: Lexicon) -> Reading:
    """Return what a question asks for.

    :raises UnreadableError: when that cannot be told.
    """
    return _Reader(question, lexicon, mentions_of(question, lexicon)).read()


class _Reader:
    def __init__(self, question: str, lexicon: Lexicon, mentions: Mentions) -> None:
        self._text = question
        self._lexicon = lexicon
        self._said = mentions
        self._rest = [each for each in mentions.all if not each.is_cue("it")]
        self._used: set[Mention] = set()
        self._are_sorts = False

    def read(self) -> Reading:
        names = dict(self._named_stops())
        reading = self._begin()
        self._read_counts(reading)
        self._read_times(reading)
        self._read_stops(reading, names)
        self._read_conditions(reading)
        reading.relations = list(self._relations(reading))
        reading.refers_back = bool(self._cues("it")) and not names
        self._read_leftovers(reading)
        return reading

    # what stands where

    def _cues(self, *kinds: str) -> list[Mention]:
        return [each for each in self._said.all if each.is_cue(*kinds)]

    def _between(self, left: Mention, right: Mention) -> str:
        return self._text[left.end : right.start]

    def _next(self, mention: Mention, skip: Sequence[str] = ()) -> Mention | None:
        """The mention behind another one, if it is near."""
        for each in self._said.all:
            if each.start >= mention.end and not each.is_cue(*skip):
                return each if each.start - mention.end <= _MOST_GAP else None
        return None

    def _before(self, mention: Mention) -> Mention | None:
        before = [each for each in self._said.all if each.end <= mention.start]
        return before[-1] if before else None

    # names

    def _named_stops(self) -> Iterator[tuple[Mention, Stop]]:
        """Yield names with their types: of the type word before, or of "is a" behind."""
        for each in self._said.all:
            if not each.name or self._is_text_of_start(each):
                continue
            types: tuple[str, ...] = ()
            before, behind = self._before(each), self._next(each)
            related = each.before in _PLACES
            if before and self._is_of_type(before, each) and (types := _owners(before)):
                self._used.add(before)
                related = related or before.before in _PLACES
                related = related or self._text[: before.start].rstrip().lower().endswith(
                    (" in the", " at the", " from the")
                )
            elif behind and _IS_A.fullmatch(self._between(each, behind)) and (types := _owners(behind)):
                self._used.add(behind)
            self._used.add(each)
            yield each, Stop(at=each.start, types=types, name=each.name, related=related)

    def _is_of_type(self, before: Mention, name: Mention) -> bool:
        """Whether a word is the type of the name behind it: "battery module BM-1", "state of Morelos"; not "capital of France"."""
        between = self._between(before, name)
        if before.relations and before.text.lower().endswith((" of", " by", " in", " at", " to")):
            return False
        if re.search(r"\bof\b", between) and (before.relations or _is_plural(before.text)):
            return False
        return _GAP.fullmatch(between) is not None

    def _is_text_of_start(self, name: Mention) -> bool:
        before = self._before(name)
        return before is not None and before.is_cue("starts")

    # what is asked for

    def _begin(self) -> Reading:
        kind = self._kind()
        asking = self._cues("which", "count", "where")
        start = asking[0].start if asking else 0
        if any(re.match(r"\s*ones?\b(?! is an?\b)", self._text[each.end :].lower()) for each in asking):
            start = 0
        if kind == "change":  # "changes" is no value here
            cued = [(each.start, each.end) for each in self._cues("change")]
            self._rest = [each for each in self._rest if each.cue or not any(s <= each.start < e for s, e in cued)]
        reading = Reading(kind=kind, targets=(), target=Stop(at=start), words=self._said.words)
        grouping = ("bound", "each") if kind == "count" or self._cues("sum") else ("bound",)
        counted = {each for cue in self._cues(*grouping) if (each := self._next(cue)) and not each.properties}
        self._find_target(reading, start, counted)
        if not reading.targets and not reading.asked:
            self._find_target(reading, 0, counted)
        reading.is_target_said = bool(reading.targets)
        reading.is_open = re.search(r"\b(?:what|who)\b", self._text.lower()) is not None and not reading.targets
        if reading.asked and not reading.targets:
            self._begin_with_property(reading)
        if not reading.targets and not asking:
            raise UnreadableError("it does not say what is asked for")
        return reading

    def _find_target(self, reading: Reading, start: int, counted: Collection[Mention]) -> None:
        for each in self._rest:
            if each.start < start or each in self._used or (each in counted and each.types):
                continue
            if self._asks_for(reading, each):
                break

    def _kind(self) -> Kind:
        if self._cues("blueprint"):
            return "blueprint"
        is_if = (
            re.search(
                r"\b(?:if|when|once|should|because|due|break\w*|affected|impact\w*|hit|get|shortage)\b",
                self._text.lower(),
            )
            is not None
        )
        if self._cues("loss") and is_if:
            return "loss"
        if self._cues("change") and is_if:
            return "change"
        return "count" if self._cues("count") and not self._is_top_count() else "list"

    def _is_top_count(self) -> bool:
        return all((before := self._before(each)) is not None and before.is_cue("top") for each in self._cues("count"))

    def _asks_for(self, reading: Reading, each: Mention) -> bool:
        """Take a mention as what is asked for, if it can be that; True ends the search."""
        if each.types and (sort := _SORT_OF.search(self._text[: each.start].lower())):
            names = _names(each.types)
            reading.asked = tuple(
                key for key in self._lexicon.properties if key.role == "category" and key.owner in names
            )
            self._used.add(each)
            self._are_sorts = sort[1] == "s"
            return False
        if each.types and not self._is_property(each):
            reading.targets = tuple(type_.name for type_ in each.types)
            reading.is_plural = _is_plural(each.text)
            reading.target.at = each.start
            reading.target.types = reading.targets
            self._used.add(each)
            return True
        asked = tuple(key for key in each.properties if key.key.type != "boolean" or self._is_yes_no)
        behind = self._next(each)
        if asked and behind and behind.is_cue("bound"):  # "modules cost more than"
            reading.targets = reading.target.types = tuple(dict.fromkeys(key.owner for key in asked))
            return True
        if asked and not reading.asked and not each.values:
            reading.asked = asked
            self._are_sorts = _is_plural(each.text.split(" of ")[0])
            self._used.add(each)
            return False
        owners = [value for value in each.values if value.property.role != _PLAN and not value.property.of_relationship]
        if owners and not (behind and behind.types and not self._between(each, behind).strip(" -")):
            reading.targets = tuple(dict.fromkeys(value.property.owner for value in owners))
            reading.target.at, reading.target.types = each.start, reading.targets
            return True
        return False

    @property
    def _is_yes_no(self) -> bool:
        """Whether it asks whether something is true: "Is Austria landlocked?"."""
        return _YES_NO.match(self._text) is not None

    def _is_property(self, each: Mention) -> bool:
        """Whether a word that may be a type or a property is a property here: something is compared with it."""
        if not each.properties or any(type_.own for type_ in each.types):
            return bool(each.properties) and not each.types
        before, behind = self._before(each), self._next(each)
        measured = before is not None and before.is_cue("top", "sum") and each.start - before.end <= 2
        return measured or (behind is not None and (behind.is_cue("bound") or behind.number is not None))

    def _begin_with_property(self, reading: Reading) -> None:
        """A property is asked for, and no type: that of its owner is."""
        reading.targets = tuple(dict.fromkeys(each.owner for each in reading.asked if not each.of_relationship))
        reading.target.types = reading.targets

    def _settle_asked(self, reading: Reading) -> None:
        """Say what is done with a property that is asked for; "how much do they cost" asks for one behind."""
        if self._cues("sum") and not reading.asked and reading.targets and not self._cues("top"):
            for each in self._rest:
                fitting = tuple(key for key in each.properties if key.owner in reading.targets)
                if fitting and each not in self._used and self._next_number(each) is None:
                    self._used.add(each)
                    reading.asked = fitting
                    break
        if not reading.asked or reading.kind == "count":
            return
        fitting = tuple(each for each in reading.asked if each.owner in reading.targets)
        tops, sums = self._cues("top"), self._cues("sum")
        reading.asked = fitting or reading.asked
        reading.kind = "total" if sums or tops else "property"
        if sums:
            reading.total = str(sums[0].cue.value) if sums[0].cue else ""
        elif tops:
            reading.total = "MAX" if _top(tops[0]).descending else "MIN"

    def _next_number(self, each: Mention) -> float | None:
        behind = self._next(each)
        return None if behind is None else behind.number

    # counts, superlatives, times

    def _read_counts(self, reading: Reading) -> None:
        self._settle_asked(reading)
        for cue in self._cues("top"):
            if reading.kind != "total":
                self._read_top(reading, cue)
        for cue in self._cues("bound"):
            behind = self._next(cue)
            bound = cue.cue.value if cue.cue else None
            if isinstance(bound, Bound) and behind and self._is_counted(reading, behind):
                reading.counted = self._counted(behind, bound=bound)
        for cue in self._cues("each"):
            behind = self._next(cue)
            if behind and (behind.types or behind.properties):
                self._used.add(behind)
                reading.each, reading.each_words = _names(behind.types), behind.text
        numbers = [each for each in self._said.all if each.number is not None]
        for each in numbers:
            behind = self._next(each, skip=("top",))
            if behind and (behind in self._used or behind.is_cue("top")) and behind.start == reading.target.at:
                reading.limit = int(each.number or 1)
                self._used.add(each)

    def _read_top(self, reading: Reading, cue: Mention) -> None:
        top, behind = _top(cue), self._next(cue, skip=("sum",))
        is_number = "number" in cue.text
        is_near = behind is not None and behind.start - cue.end <= 1
        if behind and behind.properties and not is_number and (is_near or not behind.types):
            self._rank(reading, top, behind)
        elif behind and self._is_counted(reading, behind):
            reading.counted = self._counted(behind, descending=top.descending)
        else:
            self._rank(reading, top, None)

    def _is_counted(self, reading: Reading, each: Mention) -> bool:
        """Whether a bound or a superlative before a word is one of the number of such neighbours."""
        if each in self._used or self._is_property(each):
            return False
        return bool(each.types or set(_owners(each)) - set(reading.targets))

    def _counted(self, each: Mention, bound: Bound | None = None, *, descending: bool | None = None) -> Counted:
        self._used.add(each)
        values = [] if each.types else [value for value in each.values if value.property.owner in _owners(each)]
        conditions = tuple(Condition(of=value.property, operator="=", value=value.value) for value in values)
        return Counted(at=each.start, types=_owners(each), bound=bound, descending=descending, conditions=conditions)

    def _rank(self, reading: Reading, top: Top, mention: Mention | None) -> None:
        """Take the first ones by a property; of an adjective alone by the one that it implies."""
        mention = mention or self._by()
        if mention is not None:
            properties = mention.properties
            self._used.add(mention)
        else:
            properties = [
                each for each in self._lexicon.properties if each.owner in reading.targets and _fits(each, top.implied)
            ]
        if not properties:
            raise UnreadableError("it does not say by what the first ones are found")
        sums = [each for each in self._cues("sum") if mention and each.end <= mention.start]
        total = str(sums[-1].cue.value) if sums and sums[-1].cue else ""
        reading.target.rank = Rank(properties=tuple(properties), descending=top.descending, total=total)

    def _by(self) -> Mention | None:
        """Return a property behind "by": "the dearest ones, by their total cost"."""
        for each in self._rest:
            if (
                each.properties
                and each not in self._used
                and re.search(r"\bby\b[^,.]*$", self._text[: each.start].lower())
            ):
                return each
        return None

    def _read_times(self, reading: Reading) -> None:
        said: dict[str, int] = {}
        for cue in self._cues("year", "quarter", "month"):
            kind, value = (cue.cue.kind, cue.cue.value) if cue.cue else ("", 0)
            if said.setdefault(kind, value) != value:
                raise UnreadableError("it names several times")
        reading.when = When(**said)
        steps = self._cues("steps")
        reading.steps = min(6, max(1, int(steps[0].cue.value))) if steps and steps[0].cue else 0
        reading.siblings = bool(self._cues("other"))
        reading.either = bool(self._cues("or"))
        reading.where = bool(self._cues("where"))

    # chains

    def _read_stops(self, reading: Reading, names: dict[Mention, Stop]) -> None:
        for stop in names.values() if self._are_sorts else ():
            stop.related = True  # "what types of area is England divided into"
        chain: list[Stop] = []
        for each in self._rest:
            if each in names:
                chain.append(names[each])
                reading.chains.append(chain)
                chain = []
            elif each.types and each not in self._used and not self._is_property(each):
                self._used.add(each)
                if reading.kind in ("loss", "change"):
                    reading.targets += _names(each.types)
                else:
                    chain.append(Stop(at=each.start, types=_names(each.types)))
        if chain:
            reading.chains.append(chain)
        stops = [stop for chain in reading.chains for stop in chain]
        rank = reading.target.rank
        if rank and not rank.total and not any(each.owner in reading.targets for each in rank.properties):
            for stop in stops:  # "the component with the highest price"
                if any(each.owner in stop.types for each in rank.properties):
                    stop.rank, reading.target.rank = rank, None
                    break

    # conditions

    def _read_conditions(self, reading: Reading) -> None:
        for each in self._rest:
            if each.values and each not in self._used:
                self._read_value(reading, each)
            elif each.properties and each not in self._used:
                self._read_comparison(reading, each)
            elif each.is_cue("starts"):
                self._read_start(reading, each)

    def _read_value(self, reading: Reading, each: Mention) -> None:
        plans = [value for value in each.values if value.property.role == _PLAN]
        if plans:
            reading.plan = plans[0].value
        rest = [value for value in each.values if value.property.role != _PLAN and not value.property.of_relationship]
        if not rest:
            return
        stop = self._owner(reading, each, [value.property.owner for value in rest])
        before = self._before(each)
        only = [cue.end for cue in self._cues("only")]
        stop.only = (before is not None and before.is_cue("only")) or any(0 < stop.at - end <= 1 for end in only)
        stop.conditions += [
            Condition(of=value.property, operator="=", value=value.value)
            for value in rest
            if value.property.owner in stop.types
        ]

    def _read_comparison(self, reading: Reading, each: Mention) -> None:
        """Read a property with a number behind it, or a bound before or behind; a property of truths alone is true."""
        bound: Bound | None = None
        behind, before = self._next(each), self._before(each)
        for near, text in ((behind, each), (before, before)):
            if near is None or text is None:
                continue
            if near.is_cue("bound") and near.cue:
                bound = near.cue.value
            elif near.number is not None and near is behind:
                bound = Bound("=", near.number)
                self._used.add(near)
            if bound:
                break
        owned = [found for found in each.properties if not found.of_relationship]
        if bound is not None and owned:
            stop = self._owner(reading, each, [found.owner for found in owned])
            stop.conditions += [
                Condition(of=found, operator=bound.operator, value=bound.number)
                for found in owned
                if found.owner in stop.types and found.key.type in ("integer", "number")
            ]
        elif truths := [found for found in owned if found.key.type == "boolean"]:
            is_not = before is not None and before.is_cue("not")
            stop = self._owner(reading, each, [found.owner for found in truths])
            stop.conditions += [
                Condition(of=found, operator="=", value=not is_not) for found in truths if found.owner in stop.types
            ]

    def _read_start(self, reading: Reading, each: Mention) -> None:
        behind = self._next(each)
        if behind is None or not behind.name or each.cue is None:
            raise UnreadableError("it does not say what the names start with")
        for key in (
            found for found in self._lexicon.properties if found.role == "name" and found.owner in reading.targets
        ):
            reading.target.conditions.append(Condition(of=key, operator=str(each.cue.value), value=behind.name))

    def _owner(self, reading: Reading, each: Mention, owners: Sequence[str]) -> Stop:
        """Return the place of the type that a condition is on: the nearest one before it, or behind it; a new one where there is none."""
        stops = [reading.target, *(stop for chain in reading.chains for stop in chain)]
        fitting = [stop for stop in stops if set(stop.types) & set(owners)]
        behind = self._next(each)
        adjacent = [stop for stop in fitting if behind is not None and stop.at == behind.start and not stop.name]
        before = [stop for stop in fitting if stop.at <= each.start]
        if adjacent or fitting:
            return (adjacent or sorted(before, key=lambda stop: -stop.at) or fitting)[0]
        stop = Stop(at=each.start, types=tuple(dict.fromkeys(owners)))
        reading.chains.append([stop])
        return stop

    # relations and what is left

    def _relations(self, reading: Reading) -> Iterator[Relation]:
        for each in self._said.all:
            if not each.relations or each in self._used:
                continue
            before = self._before(each)
            negated = before is not None and before.is_cue("not") and not self._between(before, each).strip()
            chain = self._chain_behind(reading, each) if negated else None
            if chain is not None:
                reading.chains.remove(chain)
                reading.without.append(chain)
                yield Relation(mention=each, only_for=chain[0].at)
            else:
                yield Relation(mention=each, negated=negated)

    def _chain_behind(self, reading: Reading, relation: Mention) -> list[Stop] | None:
        """The chain that a relation word stands before: "do not take the parameter …", but not "do not return it"."""
        for chain in reading.chains:
            between = self._text[relation.end : chain[0].at]
            is_near = relation.end <= chain[0].at <= relation.end + _MOST_GAP
            if is_near and not re.search(r"\b(?:it|them)\b|,", between.lower()):
                return chain
        return None

    def _read_leftovers(self, reading: Reading) -> None:
        """Take words that were not read as names, where a relation has no other end; keep the others."""
        unread = list(self._said.unread)
        is_open = not any(stop.name for chain in reading.chains for stop in chain)
        for each in unread[:]:
            before = self._before(each)
            follows = (
                before is not None
                and (before.relations or before.types)
                and self._between(before, each).strip() in _ARTICLES
            )
            is_plain = (
                before is not None and bool(before.types) and _is_plural(before.text) and each.before not in _PLACES
            )
            if is_open and before is not None and not is_plain and (follows or each.before in _PLACES):
                types = _names(before.types) if not self._between(before, each).strip() else ()
                reading.chains = [chain for chain in reading.chains if chain[-1].at != before.start]
                reading.chains.append([Stop(at=each.start, types=types, name=each.text)])
                unread.remove(each)
                is_open = False
        reading.unread = tuple(each.text for each in unread if each.text.lower() not in self._lexicon.units)
        if reading.unread and not reading.is_narrowed:
            raise UnreadableError(f"“{reading.unread[0]}” means nothing here")


_ARTICLES = ("", "a", "an", "the")


def _is_plural(text: str) -> bool:
    last = text.lower().split()[-1]
    return last.endswith("s") and noun_lemma(last) != last


def _names(types: Iterable[TypeOf]) -> tuple[str, ...]:
    return tuple(each.name for each in types)


def _owners(mention: Mention) -> tuple[str, ...]:
    """The types that a word before a name says: "the module", "the state of"."""
    if mention.types:
        return _names(mention.types)
    values = [each for each in mention.values if not each.property.of_relationship and each.property.role != _PLAN]
    return tuple(dict.fromkeys(each.property.owner for each in values))


def _top(mention: Mention) -> Top:
    if mention.cue is None or not isinstance(mention.cue.value, Top):
        raise UnreadableError("it has a superlative of nothing")
    return mention.cue.value


def _fits(each: PropertyOf, implied: Sequence[str]) -> bool:
    return each.key.type in ("integer", "number", "date") and any(word in each.words for word in implied)
