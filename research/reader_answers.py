"""What a reader answers to a row of a reading sheet, and whether the gold set agrees with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.queries import Slot, gold_slots, slot_name
from ontology.errors import DocumentError, InvalidArgumentError

__all__ = ["Answer", "Gold", "Label", "judged", "numbered_rows", "read_answers", "read_gold"]

AMBIGUOUS = "ambiguous"
MISSING = "missing:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """The label of a row.

    :param request: id of the request in its set.
    :param slots: empty for a request that no tool serves.
    """

    id: str
    request: str
    slots: tuple[Slot, ...]
    request_class: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one reader says of a row.

    :param slots: the needed tools.
    :param missing: steps that no tool does, and inputs that nobody can know, in words.
    :param ambiguous: whether two readings need different tools.
    :param typeable: whether a colleague could have typed the text.
    """

    id: str
    slots: tuple[Slot, ...] = ()
    missing: tuple[str, ...] = ()
    ambiguous: bool = False
    typeable: bool
    note: str = ""

    @property
    def needed(self) -> str:
        """The needed tools in words."""
        if self.ambiguous:
            return AMBIGUOUS
        return " + ".join([*(f"({slot_name(slot)})" for slot in self.slots), *self.missing]) or "no tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A reader's judgement of the gold set of a row.

    :param wrong: the gold set is not what the reader needs: a tool is missing, needless or another one, an alternative of a slot would
        not do, or the reader finds the request ambiguous or not servable.
    :param wrong_in_any_way: the same where a slot is right as soon as one of its alternatives would do.
    :param incomplete: the gold set is right, and the reader names an alternative that it lacks.
    """

    wrong: bool
    wrong_in_any_way: bool
    incomplete: bool


def judged(gold: Gold, answer: Answer) -> Label:
    """Compare a gold set with an answer: each slot needs another step of the reader, and each step a slot."""
    if answer.ambiguous or answer.missing:
        return Label(wrong=True, wrong_in_any_way=True, incomplete=False)
    wrong = not _paired(gold.slots, answer.slots, lambda slot, step: set(slot) <= set(step))
    loose = not _paired(gold.slots, answer.slots, lambda slot, step: bool(set(slot) & set(step)))
    named = {tool for slot in gold.slots for tool in slot}
    incomplete = not wrong and any(tool not in named for step in answer.slots for tool in step)
    return Label(wrong=wrong, wrong_in_any_way=loose, incomplete=incomplete)


def _paired(slots: Sequence[Slot], steps: Sequence[Slot], agree: Callable[[Slot, Slot], bool]) -> bool:
    """Whether slots and steps can be joined in pairs that agree, so that none is left."""
    import networkx as nx

    if len(slots) != len(steps):
        return False
    graph: nx.Graph[tuple[str, int]] = nx.Graph()
    left = [("slot", number) for number in range(len(slots))]
    graph.add_nodes_from([*left, *(("step", number) for number in range(len(steps)))])
    for row, slot in enumerate(slots):
        graph.add_edges_from(
            (("slot", row), ("step", column)) for column, step in enumerate(steps) if agree(slot, step)
        )
    return len(nx.bipartite.maximum_matching(graph, top_nodes=left)) == 2 * len(slots)


def read_gold(path: Path, ids: Collection[str]) -> dict[str, Gold]:
    """The key of a sheet by row.

    :param ids: of the rows of the sheet.
    :raises DocumentError: for a row that is no row of a key.
    :raises InvalidArgumentError: when it is the key of another sheet.
    """
    found = {}
    for place, row in numbered_rows(path):
        if not {"id", "request", "tools"} <= row.keys():
            raise DocumentError("it is no row of a key", subject=place, remedy="Give the key that `draw` wrote")
        found[row["id"]] = Gold(
            id=row["id"], request=row["request"], slots=gold_slots(row["tools"]), request_class=row.get("class", "")
        )
    if set(found) != set(ids):
        raise InvalidArgumentError(
            "it is the key of another sheet", subject=str(path), remedy="Give the sheet and the key of one draw"
        )
    return found


def read_answers(path: Path, ids: Collection[str], *, all_rows: bool = True) -> dict[str, Answer]:
    """The answers of a reader by row.

    :param ids: of the rows of the sheet.
    :param all_rows: whether every row must be answered.
    :raises DocumentError: for a line that is no answer, or answers a row that is not in the sheet, or a second time.
    :raises InvalidArgumentError: when rows are not answered.
    """
    found: dict[str, Answer] = {}
    for place, row in numbered_rows(path):
        answer = _answer(place, row)
        if answer.id not in ids or answer.id in found:
            why = "was answered before" if answer.id in found else "is not in the sheet"
            raise DocumentError(f"the row {answer.id!r} {why}", subject=place, remedy="Correct it")
        found[answer.id] = answer
    left = sorted(set(ids) - found.keys())
    if all_rows and left:
        raise InvalidArgumentError(
            f"{len(left)} rows are not answered: {', '.join(left[:10])}", subject=str(path), remedy="Answer them"
        )
    return found


def _answer(place: str, row: Mapping[str, Any]) -> Answer:
    needed, typeable = row.get("needed"), row.get("typeable")
    listed = needed if isinstance(needed, list) else []
    missing = tuple(one for one in listed if isinstance(one, str) and one.startswith(MISSING))
    steps = [one for one in listed if one not in missing]
    texts = [text for one in steps for text in (one if isinstance(one, list) else [one])]
    right = needed == AMBIGUOUS or (isinstance(needed, list) and all(isinstance(text, str) and text for text in texts))
    if not isinstance(row.get("id"), str) or not isinstance(typeable, bool) or not right or [] in steps:
        raise DocumentError(
            "it is no answer", subject=place, remedy="Answer as `python -m research.reading_sheet instructions` says"
        )
    return Answer(
        id=row["id"],
        slots=gold_slots(steps),
        missing=missing,
        ambiguous=needed == AMBIGUOUS,
        typeable=typeable,
        note=str(row.get("note") or ""),
    )


def numbered_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file, each with its place ``file:line``.

    :raises DocumentError: for a file that cannot be read, or a line that is no object.
    """
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe or a device could be read without end
        raise DocumentError("it is no regular file", subject=str(path), remedy="Name another file")
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # a line separator of Unicode may stand in a text
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"it cannot be read ({error})", subject=str(path), remedy="Name another file") from error
    for number, line in enumerate(lines, start=1):
        place = f"{path}:{number}"
        try:
            row = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError) as error:
            raise DocumentError(f"it is not JSON ({error})", subject=place, remedy="Correct it") from error
        if row is None:
            continue
        if not isinstance(row, dict):
            raise DocumentError("it is not an object", subject=place, remedy="Correct it")
        yield place, row
