"""What a question asks for: its names with their types, the kind of answer, the type or the property."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from planners.graphseek.rules.question_mentions import Mention
from planners.graphseek.rules.question_reading import Condition, Kind, Reading, Stop, value_conditions
from planners.graphseek.rules.said_question import (
    PLACES,
    SaidQuestion,
    UnreadableError,
    free_values,
    is_plural,
    names_of,
    owners_of,
    top_of,
)
from planners.graphseek.rules.superlatives import ordered_by

__all__ = ["TargetReading"]

_GAP = re.compile(r"[\s'\"“‘,]*(?:of|named|called|the)?[\s'\"“‘]*")  # between a type and the name of one
_IS_A = re.compile(r"\s*(?:is|was|are) (?:an?|the)\s*")
# "sort of" was found on the paraphrases, after they had been run once; the other rules here on the shipped questions.
_SORT_OF = re.compile(r"\b(?:type|kind|sort)(s?) of (?:\w+ )?$")
_CAUSES: tuple[Kind, ...] = ("loss", "change")
# What makes "becomes unavailable" a cause, and "changes" no value.
_IF = re.compile(r"\b(?:if|when|once|should|because|due|break\w*|affected|impact\w*|hit|get|shortage)\b")


class TargetReading:
    """Reads it, and marks the mentions that it used.

    :ivar are_sorts: whether several sorts are asked for: "what types of area".
    """

    def __init__(self, said: SaidQuestion) -> None:
        self._said = said
        self.are_sorts = False
        self._asked: set[Mention] = set()

    def named_stops(self) -> Iterator[tuple[Mention, Stop]]:
        """Yield names with their types: of the type word before, or of "is a" behind."""
        for each in self._said.all:
            if not each.name or self._is_text_of_start(each):
                continue
            types: tuple[str, ...] = ()
            presumed: list[Condition] = []
            before, behind = self._said.before(each), self._said.next_to(each)
            related = each.before in PLACES
            if before and self._is_of_type(before, each) and (types := owners_of(before)):
                self._said.used.add(before)
                presumed = _said_values(before)
                related = related or before.before in PLACES
                related = related or self._said.text[: before.start].rstrip().lower().endswith(
                    (" in the", " at the", " from the")
                )
            elif behind and _IS_A.fullmatch(self._said.between(each, behind)) and (types := owners_of(behind)):
                self._said.used.add(behind)
                presumed = _said_values(behind)
            self._said.used.add(each)
            is_owner = before is not None and self._said.between(before, each).strip().lower() in ("of", "of the")
            is_verb_behind = (
                behind is not None and bool(behind.relations) and not self._said.between(each, behind).strip()
            )
            stop = Stop(at=each.start, types=types, name=each.name, related=related)
            stop.is_subject, stop.presumed = is_owner or is_verb_behind, presumed
            yield each, stop

    def _is_of_type(self, before: Mention, name: Mention) -> bool:
        """Whether a word is the type of the name behind it: "battery module BM-1", "state of Morelos"; not "capital of France"."""
        between = self._said.between(before, name)
        if before.relations and before.text.lower().endswith((" of", " by", " in", " at", " to")):
            return False
        is_ranked = self._said.follows(before, "top")  # "the oldest paper of Karl Emm"
        if re.search(r"\bof\b", between) and (before.relations or is_plural(before.text) or is_ranked):
            return False
        return _GAP.fullmatch(between) is not None

    def _is_text_of_start(self, name: Mention) -> bool:
        return self._said.follows(name, "starts")

    def begin(self) -> Reading:
        """Return a reading that knows what is asked for.

        :raises UnreadableError: when that cannot be told.
        """
        kind = self._kind()
        asking = self._said.asking
        start = asking[0].start if asking else 0
        if any(re.match(r"\s*ones?\b(?! is an?\b)", self._said.text[each.end :].lower()) for each in asking):
            start = 0
        if kind == "change":  # "changes" is no value here
            cued = [(each.start, each.end) for each in self._said.cues("change")]
            inside = [each for each in self._said.rest if not each.cue and any(s <= each.start < e for s, e in cued)]
            self._said.passed.update(inside)
            self._said.rest = [each for each in self._said.rest if each not in self._said.passed]
        reading = Reading(kind=kind, targets=(), target=Stop(at=start), words=self._said.words)
        grouping = ("bound", "each") if kind == "count" or self._said.cues("sum") else ("bound",)
        counted = {
            each
            for cue in self._said.cues(*grouping)
            if (each := self._said.next_to(cue, skip=("other",))) and not each.properties
        }
        self._find_target(reading, start, counted)
        if not reading.targets and not reading.asked:
            self._find_target(reading, 0, counted)
        reading.is_target_said = bool(reading.targets)
        reading.is_open = re.search(r"\b(?:what|whom?)\b", self._said.text.lower()) is not None and not reading.targets
        if reading.asked and not reading.targets:
            self._begin_with_property(reading)
        if not reading.targets and not asking:
            raise UnreadableError("it does not say what is asked for")
        return reading

    def _find_target(self, reading: Reading, start: int, counted: Collection[Mention]) -> None:
        for each in self._said.rest:
            if each.start < start or each in self._said.used or (each in counted and each.types):
                continue
            if self._asks_for(reading, each):
                break

    def _kind(self) -> Kind:
        if self._said.cues("blueprint"):
            return "blueprint"
        is_if = _IF.search(self._said.text.lower()) is not None
        for kind in _CAUSES if is_if else ():
            if cues := self._said.cues(kind):
                self._said.used.update(cues)
                return kind
        self._said.used.update(counts := self._said.cues("count"))
        return "count" if counts and not self._is_top_count() else "list"

    def _is_top_count(self) -> bool:
        return all(self._said.follows(each, "top") for each in self._said.cues("count"))

    def _asks_for(self, reading: Reading, each: Mention) -> bool:
        """Take a mention as what is asked for, if it can be that; True ends the search."""
        if each.types and (sort := _SORT_OF.search(self._said.text[: each.start].lower())):
            names = names_of(each.types)
            reading.asked = tuple(
                key for key in self._said.lexicon.properties if key.role == "category" and key.owner in names
            )
            self._said.used.add(each)
            self.are_sorts = sort[1] == "s"
            return False
        if each.types and self._said.is_who and self._is_behind_relation(each):  # "who wrote the books that …"
            return True
        if each.types and not self._said.is_property(each):
            reading.targets = names_of(each.types)
            reading.is_plural = is_plural(each.text)
            reading.target.at = each.start
            reading.target.types = reading.targets
            self._said.used.add(each)
            return True
        asked = tuple(key for key in each.properties if key.key.type != "boolean" or self._said.is_yes_no)
        if asked and self._said.is_who and not reading.asked:
            if each.relations:  # "who discovered Titan", where moons have a year "discovered" too
                return False
            if all(key.key.type != "string" for key in asked):
                raise UnreadableError(f"“who” asks for nodes, and “{each.text}” is none")
        behind = self._said.next_to(each)
        if asked and ((behind and behind.is_cue("bound")) or self._said.times_behind(each)):  # "modules cost more than"
            reading.targets = reading.target.types = tuple(dict.fromkeys(key.owner for key in asked))
            return True
        if asked and not reading.asked and not each.values:
            reading.asked, reading.asked_at = asked, each.start
            self._asked.add(each)
            is_text = all(key.key.type == "string" for key in asked)  # "pages" is one number
            self.are_sorts = is_text and is_plural(each.text.split(" of ")[0])
            self._said.used.add(each)
            return False
        owners = free_values(each)
        if owners and not self._describes(each):
            reading.targets = tuple(dict.fromkeys(value.property.owner for value in owners))
            reading.target.at, reading.target.types = each.start, reading.targets
            return True
        return False

    def _describes(self, each: Mention) -> bool:
        """Whether a value stands before a type, alone or with others: "rare books", "novels or short plays"."""
        last = each
        while behind := self._said.next_to(last):
            if behind.types:
                return not self._said.between(last, behind).strip(" -")
            if not (
                behind.is_cue("or") or behind.values or any(key.key.type == "boolean" for key in behind.properties)
            ):
                break
            last = behind
        return False

    def _is_behind_relation(self, each: Mention) -> bool:
        return any(other.relations and not other.types and other.end <= each.start for other in self._said.rest)

    def _begin_with_property(self, reading: Reading) -> None:
        """A property is asked for, and no type: that of its owner is."""
        reading.targets = tuple(dict.fromkeys(each.owner for each in reading.asked if not each.of_relationship))
        reading.target.types = reading.targets

    def settle_asked(self, reading: Reading) -> None:
        """Say what is done with a property that is asked for; "how much do they cost" asks for one behind."""
        if self._said.cues("sum") and not reading.asked and reading.targets and not self._said.cues("top"):
            for each in self._said.rest:
                fitting = tuple(key for key in each.properties if key.owner in reading.targets)
                if fitting and each not in self._said.used and self._next_number(each) is None:
                    self._said.used.add(each)
                    self._asked.add(each)
                    reading.asked = fitting
                    break
        if reading.kind == "count":  # "in total": all of them are counted
            self._said.used.update(each for each in self._said.cues("sum") if each.cue and each.cue.value == "SUM")
        if reading.asked and reading.kind == "count":
            self._settle_number(reading)
        if not reading.asked or reading.kind == "count":
            return
        fitting = tuple(each for each in reading.asked if each.owner in reading.targets)
        sums = self._said.cues("sum")
        tops = [top for top in self._said.cues("top") if (behind := self._said.next_to(top)) and behind in self._asked]
        reading.asked = fitting or reading.asked
        reading.kind = "total" if sums or tops else "property"
        if sums:
            reading.total = str(sums[0].cue.value) if sums[0].cue else ""
            self._said.used.update(each for each in sums if each.cue and each.cue.value == reading.total)
        elif tops:
            self._said.used.add(tops[0])
            _, descending = ordered_by(top_of(tops[0]), tops[0].text, reading.asked)
            reading.total = "MAX" if descending else "MIN"

    def _settle_number(self, reading: Reading) -> None:
        """Read "how many pages does 'Rivers' have" as a property; what stands behind "how many" is not counted as nodes then.

        :raises UnreadableError: when it is a property of relationships, or not of one thing.
        """
        word = next((each for each in self._said.all if each in self._asked), None)
        counted = self._said.next_to(self._said.cues("count")[0])
        if word is None or word is not counted:
            return
        if all(each.of_relationship for each in reading.asked):
            owners = " and ".join(dict.fromkeys(each.owner for each in reading.asked))
            raise UnreadableError(f"“{word.text}” stands at the relationships {owners}, and is not added up here")
        is_amount = all(each.key.type in ("integer", "number") for each in reading.asked if not each.of_relationship)
        if not is_amount or not any(each.name for each in self._said.all) or self._said.cues("sum"):
            raise UnreadableError(
                f"“{word.text}” is a property; say “the total …”, or the name of the thing that has it"
            )
        reading.kind = "property"

    def _next_number(self, each: Mention) -> float | None:
        behind = self._said.next_to(each)
        return None if behind is None else behind.number


def _said_values(mention: Mention) -> list[Condition]:
    """Return what a value beside a name says of it: the type of "the state of Morelos" is State."""
    return [] if mention.types else value_conditions(free_values(mention))
