"""Names that are taken for other names: letters of another script or form, and names that look like others."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from ingest.trust.hidden_characters import is_mixed, skeleton, without_hidden
from ontology.tool import Tool

__all__ = ["LookAlike", "look_alikes"]


class LookAlike(NamedTuple):
    """A tool whose name is taken for that of another; ``field`` and span of what shows it."""

    tool: Tool
    field: str
    start: int
    end: int
    rule: str
    why: str


def look_alikes(tools: Sequence[Tool], published: Collection[str] = frozenset()) -> Iterator[LookAlike]:
    """Yield the look-alikes among the tools of a catalogue; near linear in their number.

    :param published: ids of tools that were published before: among two alike, the other one is the look-alike.
    """
    flagged: set[int] = set()
    for number, tool in enumerate(tools):
        found = next(_foreign_letters(tool), None)
        if found is not None:
            flagged.add(number)
            yield found
    for number, other, what in _same_skeleton(tools, published):
        if number not in flagged:
            flagged.add(number)
            tool = tools[number]
            field, text = ("name", tool.name) if what == "name" else ("id", tool.id)
            why = f"it looks like {tools[other].id}, and is written otherwise"
            yield LookAlike(tool, field, 0, len(text), "same-look", why)


def _space_of(tool: Tool) -> str:
    """The namespace of a tool, else the first part of its id."""
    return tool.namespace or tool.id.rpartition("/")[0]


def _foreign_letters(tool: Tool) -> Iterator[LookAlike]:
    """A name that mixes scripts in a word, or has letters in another form, or a dash that is not the hyphen."""
    for field, text in (("name", tool.name), ("id", tool.id), ("metadata.namespace", tool.namespace)):
        if text.isascii():
            continue
        shown = without_hidden(text)
        if (match := _HARD_SPACE.search(text)) is not None and field != "metadata.namespace":
            why = "it has a space that is not the usual one"
            yield LookAlike(tool, field, match.start(), match.end(), "hard-space", why)
            return
        for match in re.finditer(r"[^\W_]+|[\u2010-\u2015\u2212\uff0d\uff3f\u2024\u2044\u2215]", shown):
            word = match[0]
            compatible = unicodedata.normalize("NFKC", word)
            alike = (
                is_mixed(word)
                or (not word[0].isalnum() and skeleton(word).isascii())
                or (compatible != word and compatible.isascii() and not _is_wide_text(shown))
            )
            if alike and " " not in text.strip():
                why = f"its letters are not those that they look like ({skeleton(text)})"
                yield LookAlike(tool, field, match.start(), match.end(), "foreign-letters", why)
                return


_HARD_SPACE = re.compile("(?:^|(?<=[\\x21-\\x7e]))[\u00a0\u2000-\u200a\u202f\u205f](?:$|(?=[\\x21-\\x7e]))")


def _is_wide_text(text: str) -> bool:
    """Whether wide letters stand among Chinese, Japanese or Korean ones, where they are usual."""
    return any("\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7af" for char in text)


def _same_skeleton(tools: Sequence[Tool], published: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Pairs (look-alike, other, what) of tools whose ids look the same."""
    by_look: dict[str, list[int]] = defaultdict(list)
    for number, tool in enumerate(tools):
        by_look[_joined(skeleton(tool.id))].append(number)
    for numbers in by_look.values():
        forms = {_joined(without_hidden(tools[number].id)).lower() for number in numbers} if len(numbers) > 1 else ()
        if len(forms) > 1:
            yield from _odd_ones(numbers, tools, published, "name")
    spaces: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, tool in enumerate(tools):
        if space := _space_of(tool):
            spaces[skeleton(space)][space.lower()].append(number)
    for forms_of in spaces.values():
        if len(forms_of) > 1:
            firsts = [numbers[0] for numbers in forms_of.values()]
            for odd, other, _ in _odd_ones(firsts, tools, published, "id", whole=False):
                for number in forms_of[_space_of(tools[odd]).lower()]:
                    yield number, other, "id"


def _odd_ones(
    numbers: Sequence[int], tools: Sequence[Tool], published: Collection[str], what: str, *, whole: bool = True
) -> Iterator[tuple[int, int, str]]:
    """Of tools that look alike, those that are written less plainly, or that were not published before."""
    ranked = sorted(
        numbers,
        key=lambda number: (
            tools[number].id not in published,
            _oddness(tools[number].id if whole else _space_of(tools[number])),
            tools[number].id,
        ),
    )
    for number in ranked[1:]:
        if _joined(tools[number].id).lower() != _joined(tools[ranked[0]].id).lower():
            yield number, ranked[0], what


def _oddness(text: str) -> int:
    """How many of its characters are unlikely in words: digits between letters, pairs that look like one letter, other scripts."""
    return len(
        re.findall(r"(?<=[^\W\d_])[015|](?=[^\W\d_])|vv|rn|I(?=[a-z])|(?<=[a-z])I(?![A-Za-z])|[^\x00-\x7f]", text)
    )


def _joined(text: str) -> str:
    return re.sub(r"[\s_.-]+", "_", text)
