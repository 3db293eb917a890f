"""The things that a question names, looked up: their types, and the tables of their nodes."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Collection, Sequence

from planners.graphseek.results.result import Result
from planners.graphseek.results.result_store import ResultStore
from planners.graphseek.rules.phrase_lexicon import Lexicon
from planners.graphseek.rules.question_reading import Condition, Stop
from planners.graphseek.rules.relation_choice import TwoReadingsError
from planners.graphseek.rules.replayed_calls import FailedError, ReplayedCalls
from planners.graphseek.turn import Fault, Invocation

__all__ = ["Found", "NameFinding", "NotFoundByNameError"]

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_LEAST_STEM = 4
"""Letters that an adjective and its name share at least: found on a paraphrase, "Mexican"."""
_MOST = 25
"""Nodes of one name whose types are looked at: more than the ten that ``find`` gives where no limit is said."""
_LEAST_BEGIN = 3
"""Letters that a word and a name that may be meant begin with at least; of longer words half of them."""
_SHOWN = 5
"""Names that are asked back."""
_NOT_A_LETTER = re.compile(r"[\W_]+")


class NotFoundByNameError(Exception):
    """No node has the name that a question says."""


class Found:
    """What a name is of.

    :ivar text: as the graph writes it.
    :ivar names: likewise, by the types of nodes that have it.
    :ivar handle: the table of the nodes.
    """

    def __init__(self, text: str, names: dict[str, str], handle: str) -> None:
        self.text, self.names, self.handle = text, names, handle


class NameFinding:
    """Looks names up with ``find``; all of a question at once."""

    def __init__(
        self,
        lexicon: Lexicon,
        calls: ReplayedCalls,
        results: ResultStore,
        likely_types: Collection[str] = (),
        said: Collection[str] = (),
    ) -> None:
        """Take what is known.

        :param likely_types: types at the ends of the relationships that are said: a name is most likely of one of them.
        :param said: types that words say: what is no name may be a value of theirs.
        """
        self._lexicon, self._calls, self._results, self._likely_types = lexicon, calls, results, likely_types
        self._said = said

    async def find(self, stops: Sequence[Stop]) -> dict[int, Found]:
        """Return what names are of, by the places of their stops; a stop whose name is a value gets the condition instead.

        :raises FailedError: when they cannot be looked up.
        :raises NotFoundByNameError: when nothing is called so.
        :raises TwoReadingsError: when only other names are near.
        """
        asked = [self._invocation(stop, stop.name) for stop in stops]
        outcomes = self._calls.outcomes(*asked) if asked else []
        near: dict[int, str] = {}
        found: dict[int, Found] = {}
        for stop, outcome in zip(stops, outcomes, strict=True):
            if isinstance(outcome, Result) and outcome.size:
                found[stop.at] = await self._found(outcome)
            elif isinstance(outcome, Fault) and outcome.kind != "empty":
                raise FailedError(outcome)
            elif (same := _same(stop.name, outcome)) and same != stop.name:
                near[stop.at] = same
            elif other := await self._of_other_type(stop):
                found[stop.at] = other
            elif condition := self._value(stop):
                self._calls.notes.append(
                    f"“{stop.name}” was read as the {condition.of.key.name} of {condition.of.owner}"
                )
                stop.types, stop.name, stop.is_value = (condition.of.owner,), "", True
                stop.conditions.append(condition)
            elif nearest := _nearest(stop.name, outcome):
                near[stop.at] = nearest
            elif other := await self._by_other_name(stop):
                found[stop.at] = other
            else:
                raise await self._not_found(stop, outcome)
        again = [stop for stop in stops if stop.at in near]
        outcomes = self._calls.outcomes(*(self._invocation(stop, near[stop.at]) for stop in again)) if again else []
        for stop, outcome in zip(again, outcomes, strict=True):
            if not isinstance(outcome, Result) or not outcome.size:
                raise NotFoundByNameError(f"nothing is called “{stop.name}”")
            found[stop.at] = await self._found(outcome)
            self._calls.notes.append(f"“{stop.name}” was read as {near[stop.at]}")
        return found

    async def _of_other_type(self, stop: Stop) -> Found | None:
        """Return what has exactly this name, and is of another type than the word before it says: "the ships Mia steers".

        :raises NotFoundByNameError: when that word can only be its type.
        """
        if len(stop.types) != 1:
            return None
        (outcome,) = self._calls.outcomes(Invocation(operator="find", arguments={"text": stop.name, "match": "exact"}))
        if not isinstance(outcome, Result) or not outcome.size:
            return None
        found = await self._found(outcome)
        if not stop.is_subject:
            types = " and of a ".join(found.names)
            raise NotFoundByNameError(f"no {stop.types[0]} is called “{stop.name}”; it is the name of a {types}")
        stop.of, stop.types = stop.types, ()
        return found

    def _value(self, stop: Stop) -> Condition | None:
        """Return the condition that a name is, where it is the value of a property of text.

        :raises TwoReadingsError: when it is one of several.
        """
        types = stop.types or self._said
        keys = [
            each
            for each in self._lexicon.properties
            if each.owner in types
            and not each.of_relationship
            and each.key.type == "string"
            and each.role in ("", "category")
            and each.key.name not in self._lexicon.naming[each.owner]
        ]
        found = [Condition(of=each, operator="=", value=stop.name) for each in keys]
        asked = [
            Invocation(operator="get_nodes", arguments={"node_type": each.of.owner, "filters": [each.filter]})
            for each in found
        ]
        outcomes = self._calls.outcomes(*asked) if asked else []
        found = [
            each for each, outcome in zip(found, outcomes, strict=True) if isinstance(outcome, Result) and outcome.size
        ]
        if len(found) > 1:
            shown = " or ".join(f"the {each.of.key.name} of {each.of.owner}" for each in found)
            raise TwoReadingsError(f"“{stop.name}” may be {shown}. Which is meant?")
        return found[0] if found else None

    async def _by_other_name(self, stop: Stop) -> Found | None:
        """Look a name up in properties that are names by their words, such as an official name."""
        keys = [each for each in self._lexicon.other_names if not stop.types or each.owner in stop.types]
        for key in keys:
            named = {"key": key.key.name, "operator": "=", "value": stop.name}
            (outcome,) = self._calls.outcomes(
                Invocation(operator="get_nodes", arguments={"node_type": key.owner, "filters": [named]})
            )
            if isinstance(outcome, Result) and outcome.size:
                columns = [each.name for each in outcome.columns]
                rows = await self._results.rows(outcome.handle, limit=1)
                name = str(rows[0][columns.index(self._lexicon.naming[key.owner][0])])
                return Found(name, {key.owner: name}, outcome.handle)
        return None

    async def _not_found(self, stop: Stop, outcome: Result | Fault) -> Exception:
        """Return the question whether another name is meant: a near one, or one that begins alike, of a type that is spoken of."""
        known = _hinted(outcome)
        begin = stop.name[: max(_LEAST_BEGIN, len(stop.name) // 2)]
        if not known and begin.isalpha() and len(stop.name) > _LEAST_BEGIN:
            arguments = {"text": begin, "match": "prefix", "limit": _MOST}
            (begun,) = self._calls.outcomes(Invocation(operator="find", arguments=arguments))
            rows = await self._results.rows(begun.handle, limit=_MOST) if isinstance(begun, Result) else []
            fitting = [row for row in rows if row[1] in (stop.types or self._likely_types)] or rows
            known = list(dict.fromkeys(str(row[2]) for row in fitting))[:_SHOWN]
        shown = " or ".join(f"“{each}”" for each in known if each != stop.name)
        if shown:
            return TwoReadingsError(f"Nothing is called “{stop.name}”. Is {shown} meant?")
        return NotFoundByNameError(f"nothing is called “{stop.name}”")

    def _invocation(self, stop: Stop, text: str) -> Invocation:
        typed = {"node_type": stop.types[0]} if len(stop.types) == 1 else {}
        return Invocation(operator="find", arguments={"text": text, "match": "exact", **typed})

    async def _found(self, result: Result) -> Found:
        rows = await self._results.rows(result.handle, limit=_MOST)
        return Found(str(rows[0][2]), {str(row[1]): str(row[2]) for row in rows}, result.handle)


def _hinted(outcome: Result | Fault) -> list[str]:
    """Return the names that a hint tells, as Python writes them."""
    found = []
    for each in _QUOTED.findall("" if isinstance(outcome, Result) else outcome.hint):
        with contextlib.suppress(ValueError, SyntaxError):  # a name with marks of its own
            found.append(str(ast.literal_eval(each)))
    return found


def _same(name: str, outcome: Result | Fault) -> str:
    """Return the name of a hint that differs in writing only; empty where there is none."""
    return next((each for each in _hinted(outcome) if _folded(each) == _folded(name)), "")


def _nearest(name: str, outcome: Result | Fault) -> str:
    """Return the name of a hint that the text goes on from, or whose stem it shares; empty where there is none."""
    known, wanted = _hinted(outcome), _folded(name)
    begun = [each for each in known if f"{name} ".casefold().startswith(f"{each} ".casefold())]
    if not begun and name.isalpha() and name.istitle():  # "Mexican", "Mexico"
        begun = [each for each in known if _folded(each).isalpha() and _is_stem_shared(_folded(each), wanted)]
    return (begun or [""])[0]


def _is_stem_shared(one: str, other: str) -> bool:
    stem = max(_LEAST_STEM, min(len(one), len(other)) - 1)
    return abs(len(one) - len(other)) < _LEAST_STEM and one[:stem] == other[:stem]


def _folded(name: str) -> str:
    return _NOT_A_LETTER.sub("", name.casefold())
