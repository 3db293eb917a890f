"""Names that are taken for other names: look-alike letters, and names of another namespace with a claim to be it."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ingest.trust.finding import QUARANTINE, REPORT, Severity
from ingest.trust.folded_text import is_mixed, skeleton
from ingest.trust.hidden_characters import without_hidden
from ingest.trust.imitation_evidence import imitation_evidence, imitation_weight, is_imitation, space_of
from ingest.word_lists import word_list
from ontology.names import words
from ontology.tool import Tool

__all__ = ["LookAlike", "look_alikes"]

_AFFIXES = word_list("trust", "affixes")
_LONGEST_NAME = 60
_LONG_NAME = 8  # of a shorter name one letter more or less is another word
_MOST_ALIKE = 40  # tools with one key, beyond which a name is generic


class LookAlike(NamedTuple):
    """A tool whose name is taken for that of another; ``field`` and span of what shows it."""

    tool: Tool
    field: str
    start: int
    end: int
    severity: Severity
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
            yield LookAlike(
                tool,
                field,
                0,
                len(text),
                QUARANTINE,
                "same-look",
                f"it looks like {tools[other].id}, and is written otherwise",
            )
    for number, other, reasons in _imitations(tools, published):
        if number not in flagged and other not in flagged:
            flagged.add(number)
            yield _claimed(tools[number], tools[other], reasons)


def _foreign_letters(tool: Tool) -> Iterator[LookAlike]:
    """A name that mixes scripts in a word, or has letters in another form, or a dash that is not the hyphen."""
    for field, text in (("name", tool.name), ("id", tool.id), ("metadata.namespace", tool.namespace)):
        if text.isascii():
            continue
        shown = without_hidden(text)
        if (match := _HARD_SPACE.search(text)) is not None and field != "metadata.namespace":
            why = "it has a space that is not the usual one"
            yield LookAlike(tool, field, match.start(), match.end(), QUARANTINE, "hard-space", why)
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
                yield LookAlike(
                    tool,
                    field,
                    match.start(),
                    match.end(),
                    QUARANTINE,
                    "foreign-letters",
                    f"its letters are not those that they look like ({skeleton(text)})",
                )
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
        if space := space_of(tool):
            spaces[skeleton(space)][space.lower()].append(number)
    for forms_of in spaces.values():
        if len(forms_of) > 1:
            firsts = [numbers[0] for numbers in forms_of.values()]
            for odd, other, _ in _odd_ones(firsts, tools, published, "id", whole=False):
                for number in forms_of[space_of(tools[odd]).lower()]:
                    yield number, other, "id"


def _odd_ones(
    numbers: Sequence[int], tools: Sequence[Tool], published: Collection[str], what: str, *, whole: bool = True
) -> Iterator[tuple[int, int, str]]:
    """Of tools that look alike, those that are written less plainly, or that were not published before."""
    ranked = sorted(
        numbers,
        key=lambda number: (
            tools[number].id not in published,
            _oddness(tools[number].id if whole else space_of(tools[number])),
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


def _imitations(tools: Sequence[Tool], published: Collection[str]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Pairs (imitation, original, what is alike) of tools of two namespaces with nearly one name."""
    groups: dict[tuple[str, object], list[int]] = defaultdict(list)
    for number, tool in enumerate(tools):
        if key := _name_key(tool.name):
            groups["same words", key].append(number)
        title = tool.metadata.get("title")
        if isinstance(title, str) and len(title) >= _LONG_NAME:
            groups["same title", title.casefold()].append(number)
    pairs: dict[tuple[int, int], set[str]] = defaultdict(set)
    for (kind, _), numbers in groups.items():
        if 1 < len(numbers) <= _MOST_ALIKE:
            for pair in _across(numbers, tools):
                pairs[pair].add(kind)
    for pair in _other_separators(tools):
        pairs[pair].add("only separators differ")
    for pair in _one_letter_apart(tools):
        pairs[pair].add("one letter apart")
    for pair in _misspelled(tools):
        pairs[pair].add("misspelled")
    for (a, b), reasons in pairs.items():
        if reasons & {"same words"}:
            reasons.discard("one letter apart")
        yield from _ordered(a, b, reasons, tools, published)


def _other_separators(tools: Sequence[Tool]) -> Iterator[tuple[int, int]]:
    """Pairs of tools of one namespace whose names differ in separators or capitals only."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, tool in enumerate(tools):
        groups[space_of(tool), re.sub(r"[\W_]", "", tool.name.lower())].append(number)
    for numbers in groups.values():
        if 1 < len(numbers) <= _MOST_ALIKE:
            yield from (
                (a, b) for at, a in enumerate(numbers) for b in numbers[at + 1 :] if tools[a].name != tools[b].name
            )


def _misspelled(tools: Sequence[Tool]) -> Iterator[tuple[int, int]]:
    """Pairs of tools of one namespace with the same inputs whose names differ by a letter within a word."""
    groups: dict[tuple[str, tuple[str, ...], str], list[int]] = defaultdict(list)
    for number, tool in enumerate(tools):
        inputs = tuple(sorted(parameter.name for parameter in tool.parameters))
        if len(inputs) > 1 and _LONG_NAME <= len(tool.name) <= _LONGEST_NAME:
            groups[space_of(tool), inputs, tool.name[:1].lower()].append(number)
    for numbers in groups.values():
        if 1 < len(numbers) <= _MOST_ALIKE:
            for at, a in enumerate(numbers):
                for b in numbers[at + 1 :]:
                    if _is_slip(tools[a].name.lower(), tools[b].name.lower()):
                        yield a, b


def _is_slip(one: str, other: str) -> bool:
    """Whether one name is the other with a letter left out, doubled, or two exchanged, within a word and no plural."""
    short, long = sorted((one, other), key=len)
    if short == long or len(long) - len(short) > 1:
        return False
    at = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) == len(long):
        return short[at:] == long[at + 1] + long[at] + long[at + 2 :] if at + 1 < len(long) else False
    inside = at > 0 and at + 1 < len(long) and long[at - 1].isalpha() and long[at].isalpha() and long[at + 1].isalpha()
    return inside and short[at:] == long[at + 1 :]


def _spelled_as_said(tool: Tool) -> int:
    """How many words of a tool's name begin a word of its description."""
    said = tool.description.lower()
    return sum(re.search(rf"\b{re.escape(word.lower()[:6])}", said) is not None for word in words(tool.name))


def _one_letter_apart(tools: Sequence[Tool]) -> Iterator[tuple[int, int]]:
    """Pairs of tools of two namespaces whose names differ by one letter: both give the same name without some letter."""
    first: dict[str, int] = {}
    others: dict[str, list[int]] = defaultdict(list)
    for number, tool in enumerate(tools):
        name = tool.name.lower()
        if not _LONG_NAME <= len(name) <= _LONGEST_NAME:
            continue
        for key in {name, *(name[:at] + name[at + 1 :] for at in range(len(name)))}:
            if first.setdefault(key, number) != number:
                others[key].append(number)
    found = {
        pair
        for key, numbers in others.items()
        if len(numbers) < _MOST_ALIKE
        for pair in _across([first[key], *numbers], tools)
    }
    yield from sorted(found)


def _across(numbers: Sequence[int], tools: Sequence[Tool]) -> Iterator[tuple[int, int]]:
    for at, a in enumerate(numbers):
        for b in numbers[at + 1 :]:
            if space_of(tools[a]) != space_of(tools[b]) and space_of(tools[a]) and space_of(tools[b]):
                yield a, b


def _ordered(
    a: int, b: int, reasons: Iterable[str], tools: Sequence[Tool], published: Collection[str]
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The pair in both orders, each with what speaks for it; only the order that weighs enough is kept by the caller."""
    found = set(reasons)
    if _related(space_of(tools[a]), space_of(tools[b])):
        found.add("related namespace")
    if _is_copy(tools[a].description, tools[b].description):
        found.add("a copied description")
    if _same_inputs(tools[a], tools[b]):
        found.add("the same inputs")
    twins = space_of(tools[a]) == space_of(tools[b]) and found & {"only separators differ", "misspelled"}
    directions = []
    for imitation, original in ((a, b), (b, a)):
        if tools[imitation].id in published and tools[original].id not in published:
            continue
        claims = tuple(imitation_evidence(tools[imitation], tools[original]))
        if twins and _spelled_as_said(tools[imitation]) > _spelled_as_said(tools[original]):
            continue
        if twins and _oddly_written(tools[imitation].name) < _oddly_written(tools[original].name):
            continue
        if twins and tools[imitation].description != tools[original].description:
            claims = (*claims, "a sentence more")
        if claims:
            directions.append((imitation, original, (*sorted(found), *claims)))
    yield from sorted(directions, key=lambda each: -imitation_weight(each[2]))[:1]


def _same_inputs(one: Tool, other: Tool) -> bool:
    """Whether two tools have inputs, and at least three quarters of them in common."""
    a, b = ({parameter.name for parameter in tool.parameters} for tool in (one, other))
    return bool(a) and 4 * len(a & b) >= 3 * len(a | b)


def _oddly_written(name: str) -> tuple[int, int, int]:
    """Spaces and dots at its ends, capitals beside underscores, other odd characters."""
    return (
        len(name) - len(name.strip(" .\t\n")) + len(re.findall(r"[^\w .-]|[\u00a0\u2000-\u200a\u202f\u3000]", name)),
        len(re.findall(r"(?<=_)[A-Z]|^[A-Z](?=[a-z]+_)", name)),
        len(re.findall(r"__|-_|_-", name)),
    )


def _name_key(name: str) -> tuple[str, ...]:
    """The words of a name, singular, without versions and affixes, in any order; nothing for a single word."""
    found = [word.lower() for word in words(name)]
    kept = sorted(
        {word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found if word not in _AFFIXES}
    )
    return tuple(kept) if len(kept) > 1 else ()


def _related(one: str, other: str) -> bool:
    """Whether two namespaces share a word, or one begins with the other."""
    a, b = ({word.lower() for word in words(space)} - _AFFIXES for space in (one, other))
    short, long = sorted((re.sub(r"\W", "", one.lower()), re.sub(r"\W", "", other.lower())), key=len)
    return bool(a & b) or (len(short) > 1 and long.startswith(short)) or (len(short) > 3 and short in long)


def _is_copy(one: str, other: str) -> bool:
    a, b = (re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0].casefold() for text in (one, other))
    return len(a) > _COPIED and (
        a.startswith(b[: max(_COPIED, len(b) - 2)]) or b.startswith(a[: max(_COPIED, len(a) - 2)])
    )


_COPIED = 20  # characters


def _claimed(tool: Tool, other: Tool, reasons: tuple[str, ...]) -> LookAlike:
    severity = QUARANTINE if is_imitation(reasons) else REPORT
    return LookAlike(
        tool, "id", 0, len(tool.id), severity, "imitation", f"it resembles {other.id}: {', '.join(reasons)}"
    )
