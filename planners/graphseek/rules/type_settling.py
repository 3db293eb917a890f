"""Of which types names and ambiguous words are: what is nearest to the rest of the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planners.graphseek.rules.name_finding import NotFoundByNameError
from planners.graphseek.rules.question_reading import Reading, Stop
from planners.graphseek.rules.relation_choice import RelationChoice, TwoReadingsError, UnconnectedError

__all__ = ["TypeSettling"]


class TypeSettling:
    """Settles them in a reading."""

    def __init__(self, reading: Reading, choice: RelationChoice) -> None:
        self._reading, self._choice = reading, choice

    def settle(self, found: Mapping[int, Sequence[str]]) -> None:
        """Leave each place of the reading one type.

        :param found: places of names → types of what is called so.
        :raises NotFoundByNameError: when nothing has a name.
        :raises TwoReadingsError: when it may be one or another.
        :raises UnconnectedError: when nothing says what is asked for.
        """
        reading = self._reading
        for chain in (*reading.chains, *reading.without):
            near = reading.target
            for stop in chain:
                self._settle_stop(stop, near, found.get(stop.at))
                for other in stop.row[1:]:  # of the same type, where it can be
                    names = found.get(other.at)
                    alike = [each for each in names or () if each in stop.types and not other.types]
                    self._settle_stop(other, near, alike or names)
                near = stop
        if not reading.target.types:
            reading.target.types = self._implied_target()
        elif len(reading.target.types) > 1:
            reading.target.types = self._cheapest(reading.target.types)
        reading.asked = tuple(each for each in reading.asked if each.owner in reading.target.types) or reading.asked
        for stop in (reading.target, *(stop for chain in (*reading.chains, *reading.without) for stop in chain)):
            stop.conditions = [each for each in stop.conditions if each.of.owner in stop.types]

    def _settle_stop(self, stop: Stop, near: Stop, found: Sequence[str] | None) -> None:
        possible = [each for each in (found or stop.types) if not stop.types or each in stop.types] or list(found or ())
        if len(possible) > 1 and not stop.related:
            possible = [each for each in possible if each in near.types] or possible
        if len(possible) > 1 and near.types:
            costs = {each: min(self._choice.cost(each, end) for end in near.types) for each in possible}
            possible = [each for each in possible if costs[each] == min(costs.values())]
        if len(possible) > 1:
            raise TwoReadingsError(f"“{stop.name}” is the name of a {' and of a '.join(possible)}. Which is meant?")
        if not possible:
            raise NotFoundByNameError(f"nothing is called “{stop.name}”")
        stop.types = (possible[0],)

    def _cheapest(self, types: Sequence[str]) -> tuple[str, ...]:
        far = [chain[0].types[0] for chain in self._reading.chains]
        is_said = self._reading.is_target_said
        costs = {
            each: sum(0.0 if end == each and not is_said else self._choice.cost(end, each) for end in far)
            for each in types
        }
        best = [each for each in types if costs[each] == min(costs.values())]
        if len(best) > 1:
            raise TwoReadingsError(f"This may be about {' or '.join(best)}. Which is meant?")
        return tuple(best)

    def _implied_target(self) -> tuple[str, ...]:
        """Return the type that does what "who" asks for, of where something is, or of the only thing that a question names."""
        if len(doers := self._choice.doers) == 1:
            return tuple(doers)
        is_open = self._reading.is_open and not self._reading.asked
        named = self._reading.stops if is_open else self._reading.named
        if not named:
            raise UnconnectedError("it does not say what is asked for")
        ends = (
            self._choice.places(named[0].types[0], located=self._reading.where)
            if self._reading.where or is_open
            else []
        )
        if not ends and not self._reading.where:
            return named[0].types
        if len(ends) > 1:
            raise TwoReadingsError(f"It may be asked for a {' or a '.join(ends)}. Which is meant?")
        if not ends:
            raise UnconnectedError(f"nothing says where a {named[0].types[0]} is")
        return tuple(ends)
