"""What a question counts, ranks and bounds, and when."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ontology.number_words import ordinal_of
from planners.graphseek.rules.phrase_lexicon import PropertyOf
from planners.graphseek.rules.question_cues import Bound
from planners.graphseek.rules.question_mentions import Mention
from planners.graphseek.rules.question_reading import Counted, Rank, Reading, Stop, When, value_conditions
from planners.graphseek.rules.said_question import (
    SaidQuestion,
    UnreadableError,
    names_of,
    owners_of,
    top_of,
)
from planners.graphseek.rules.superlatives import ordered_by

__all__ = ["CountReading"]

_MOST_STEPS = 6
"""All that ``traverse`` goes."""


class CountReading:
    """Reads it into a reading that knows what is asked for."""

    def __init__(self, said: SaidQuestion, reading: Reading) -> None:
        self._said, self._reading = said, reading

    def read_counts(self) -> None:
        """Read superlatives, bounds, "each", and how many of the first ones are asked for."""
        for cue in self._said.cues("top"):
            if self._reading.kind != "total":
                self._read_top(cue)
        for cue in self._said.cues("bound"):
            behind = self._said.next_to(cue, skip=("other",))
            bound = cue.cue.value if cue.cue else None
            if isinstance(bound, Bound) and behind and self._is_counted(behind):
                self._said.used.update((cue, *self._others(cue, behind)))
                self._count(self._counted(behind, bound=bound))
        for cue in self._said.cues("each"):
            behind = self._said.next_to(cue)
            if behind and behind.start == self._reading.target.at:  # "every book that …": all that fulfil it
                self._said.used.add(cue)
                self._reading.planned.add("each")
            elif behind and (behind.types or behind.properties):
                self._said.used.update((cue, behind))
                self._reading.each, self._reading.each_words = names_of(behind.types), behind.text
        self._read_by()
        numbers = [each for each in self._said.all if each.number is not None]
        for each in numbers:
            behind = self._said.next_to(each, skip=("top",))
            if (
                behind
                and (behind in self._said.used or behind.is_cue("top"))
                and behind.start == self._reading.target.at
            ):
                self._reading.limit = int(each.number or 1)
                self._said.used.add(each)

    def _read_by(self) -> None:
        """Read "by grade" behind what is counted or added up as "for each grade"."""
        if self._reading.each_words or self._reading.kind not in ("count", "total"):
            return
        for each in self._said.rest:
            by = self._said.text[: each.start].rstrip().lower()
            is_by = each.before == "by" and by.endswith("by") and bool(each.properties or each.types)
            inside = [other for other in (*self._said.all, *self._said.unread) if other.start < len(by) <= other.end]
            behind = self._said.next_to(each)
            is_name_behind = behind is not None and bool(behind.name) and not self._said.between(each, behind).strip()
            if is_by and each not in self._said.used and not inside and not is_name_behind:
                self._said.used.add(each)
                self._reading.each, self._reading.each_words = names_of(each.types), each.text
                return

    def _others(self, cue: Mention, behind: Mention) -> list[Mention]:
        """Return "other" between a bound and a word: "no other tool"."""
        return [each for each in self._said.cues("other") if cue.end <= each.start < behind.start]

    def _read_top(self, cue: Mention) -> None:
        top, behind = top_of(cue), self._said.next_to(cue, skip=("sum",))
        self._said.used.add(cue)
        if (last := self._said.text[: cue.start].split()[-1:]) and ordinal_of(last[0].lower()):
            raise UnreadableError(f"“{last[0]}” before “{cue.text}” cannot be found; ask for the first two or three")
        is_number = "number" in cue.text
        is_near = behind is not None and behind.start - cue.end <= 1
        if self._reading.target.rank or (self._reading.counted and self._reading.counted.bound is None):
            raise UnreadableError(f"it has several superlatives; ask without “{cue.text}”")
        if behind and behind.properties and not is_number and (is_near or not behind.types):
            self._rank(cue, behind)
        elif behind and (top.counts or is_number) and self._is_counted(behind):
            self._count(self._counted(behind, descending=top.descending))
        elif behind and is_near and behind not in self._said.used and owners_of(behind):
            if not behind.types:
                raise UnreadableError(f"it is not clear what “{cue.text}” is of")
            self._rank(cue, None, behind)
        else:
            self._rank(cue, None)

    def _count(self, counted: Counted) -> None:
        """Take what is counted.

        :raises UnreadableError: when something else is counted too.
        """
        if self._reading.counted is not None:
            raise UnreadableError("it counts two things; ask for one of them")
        self._reading.counted = counted

    def _is_counted(self, each: Mention) -> bool:
        """Whether a bound or a superlative before a word is one of the number of such neighbours."""
        if each in self._said.used or self._said.is_property(each):
            return False
        return bool(each.types or set(owners_of(each)) - set(self._reading.targets))

    def _counted(self, each: Mention, bound: Bound | None = None, *, descending: bool | None = None) -> Counted:
        self._said.used.add(each)
        values = [] if each.types else [value for value in each.values if value.property.owner in owners_of(each)]
        of = Stop(at=each.start, types=owners_of(each), conditions=value_conditions(values))
        return Counted(of=of, bound=bound, descending=descending)

    def _rank(self, cue: Mention, mention: Mention | None, type_: Mention | None = None) -> None:
        """Take the first ones by a property; of an adjective alone by the one that it implies.

        :param type_: the word of the type whose first ones they are, where it is not what is asked for.
        """
        top = top_of(cue)
        owners = names_of(type_.types) if type_ else self._reading.targets
        mention = mention or self._by()
        if mention is not None:
            properties = mention.properties
            self._said.used.add(mention)
        else:
            lexicon = self._said.lexicon
            properties = [each for each in lexicon.properties if each.owner in owners and _fits(each, top.implied)]
        properties = [each for each in properties if each.key.type != "boolean"]  # truths have no order
        if not properties:
            of = f"“{cue.text} {type_.text}”" if type_ else f"“{cue.text}”"
            raise UnreadableError(f"it does not say by what the first ones are found: {of} by which property")
        sums = [each for each in self._said.cues("sum") if mention and each.end <= mention.start]
        total = str(sums[-1].cue.value) if sums and sums[-1].cue else ""
        self._said.used.update(sums[-1:])
        keys, descending = ordered_by(top, cue.text, properties)
        at = type_.start if type_ else None
        self._reading.target.rank = Rank(properties=keys, descending=descending, total=total, at=at)

    def _either(self) -> list[Mention]:
        """Return "or" between two relationships: "take or return"."""
        either = []
        for cue in self._said.cues("or"):
            before, behind = self._said.before(cue), self._said.next_to(cue)
            if before and behind and before.relations and behind.relations:
                either.append(cue)
        return either

    def _by(self) -> Mention | None:
        """Return a property behind "by": "the dearest ones, by their total cost"."""
        for each in self._said.rest:
            if (
                each.properties
                and each not in self._said.used
                and re.search(r"\bby\b[^,.]*$", self._said.text[: each.start].lower())
            ):
                return each
        return None

    def read_times(self) -> None:
        """Read times, steps, and words such as "other" and "or".

        :raises UnreadableError: when there are several times, or too many steps.
        """
        said: dict[str, int] = {}
        dated = {cue for each in self._said.all for cue in self._said.times_behind(each)}
        dated |= {amount for each in self._said.all if (amount := self._said.amount_behind(each))}
        for cue in self._said.cues("year", "quarter", "month"):
            if cue in dated:  # a condition on that date
                continue
            kind, value = (cue.cue.kind, cue.cue.value) if cue.cue else ("", 0)
            if said.setdefault(kind, value) != value:
                raise UnreadableError("it names several times")
        self._reading.when = When(**said)
        steps = self._said.cues("steps")
        self._said.used.update(steps[:1])
        self._reading.steps = int(steps[0].cue.value) if steps and steps[0].cue else 0
        if steps and not 1 <= self._reading.steps <= _MOST_STEPS:
            raise UnreadableError(f"1 to {_MOST_STEPS} steps can be followed, not {self._reading.steps:,}")
        cues = self._said.cues("other")
        others = [each for each in cues if each not in self._said.used]
        if cues and not others:  # "no other tool" is counted
            self._reading.planned.add("other")
        self._reading.siblings, self._reading.either = bool(others), bool(either := self._either())
        self._reading.is_other_target = any(
            behind is not None and behind.start == self._reading.target.at for behind in map(self._said.next_to, others)
        )
        self._said.used.update((*others, *either, *self._said.cues("span", "year", "quarter", "month")))
        self._reading.where = bool(self._said.cues("where"))


def _fits(each: PropertyOf, implied: Sequence[str]) -> bool:
    return each.key.type in ("integer", "number", "date") and any(word in each.words for word in implied)
