"""Names that are taken for other names: look-alike letters, and names of another namespace with a claim to be it."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ingest.trust.finding import QUARANTINE, REPORT, Severity
from ingest.trust.folded_text import fold, is_mixed, skeleton
from ingest.trust.hidden_characters import without_hidden
from ingest.trust.instructions import signals_in
from ingest.trust.named_hosts import addresses_in, is_documentation
from ingest.trust.signals import SIGNALS
from ontology.names import words
from ontology.tool import Tool

__all__ = ["LookAlike", "look_alikes"]

_AFFIXES = frozenset(
    (
        "new",
        "next",
        "v2",
        "v3",
        "2",
        "3",
        "pro",
        "plus",
        "prod",
        "official",
        "helper",
        "tools",
        "tool",
        "api",
        "my",
        "the",
        "secure",
        "safe",
        "fast",
        "better",
        "ex",
        "x",
        "ng",
        "beta",
        "latest",
        "verified",
        "real",
        "true",
        "app",
        "service",
        "server",
        "client",
        "extra",
        "enhanced",
        "improved",
        "premium",
        "lite",
        "cloud",
        "hub",
        "suite",
        "kit",
        "mcp",
        "v1",
        "1",
        "core",
        "quick",
        "easy",
        "smart",
    )
)
_CLAIM = re.compile(
    r"\b(?:official|verified|certified|genuine|authentic|replace[sd]?|replacement|successor|predecessor|supersedes?|same as|identical to|drop-in|production (?:build|version)|version \d|newer|new version|new name|renamed|"
    r"moved (?:to|here)|instead of|deprecated|shut down|being retired|by the same team|original|mirror of|fork of|build of|compatible with|formerly|now called|stops working|discontinued|recommended over|better than|faster than|"
    r"more convenient than|takes? over|on behalf of|in place of|community version|old (?:one|version|tool)|like \w+, but|just like|works like|improved|extended version|enhanced)\b"
)
_LONGEST_NAME = 60
_LONG_NAME = 8  # of a shorter name one letter more or less is another word
_MOST_ALIKE = 40  # tools with one key, beyond which a name is generic
_WEIGHTS = {
    "same words": 0.3,
    "one letter apart": 0.45,
    "related namespace": 0.35,
    "a copied description": 0.3,
    "same title": 0.3,
}


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
        if space := _space(tool):
            spaces[skeleton(space)][space.lower()].append(number)
    for forms_of in spaces.values():
        if len(forms_of) > 1:
            firsts = [numbers[0] for numbers in forms_of.values()]
            for odd, other, _ in _odd_ones(firsts, tools, published, "id", whole=False):
                for number in forms_of[_space(tools[odd]).lower()]:
                    yield number, other, "id"


def _odd_ones(
    numbers: Sequence[int], tools: Sequence[Tool], published: Collection[str], what: str, *, whole: bool = True
) -> Iterator[tuple[int, int, str]]:
    """Of tools that look alike, those that are written less plainly, or that were not published before."""
    ranked = sorted(
        numbers,
        key=lambda number: (
            tools[number].id not in published,
            _oddness(tools[number].id if whole else _space(tools[number])),
            tools[number].id,
        ),
    )
    for number in ranked[1:]:
        if _joined(tools[number].id).lower() != _joined(tools[ranked[0]].id).lower():
            yield number, ranked[0], what


def _oddness(text: str) -> int:
    """How many of its characters are unlikely in words: digits between letters, pairs that look like one letter, other scripts."""
    return len(re.findall(r"(?<=[^\W\d_])[015|](?=[^\W\d_])|vv|rn|I(?=[a-z])|[^\x00-\x7f]", text))


def _joined(text: str) -> str:
    return re.sub(r"[\s_.-]+", "_", text)


def _space(tool: Tool) -> str:
    return tool.namespace or tool.id.rpartition("/")[0]


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
    for (a, b), reasons in pairs.items():
        if reasons & {"same words"}:
            reasons.discard("one letter apart")
        yield from _ordered(a, b, reasons, tools, published)


def _other_separators(tools: Sequence[Tool]) -> Iterator[tuple[int, int]]:
    """Pairs of tools of one namespace whose names differ in separators or capitals only."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, tool in enumerate(tools):
        groups[_space(tool), re.sub(r"[\W_]", "", tool.name.lower())].append(number)
    for numbers in groups.values():
        if 1 < len(numbers) <= _MOST_ALIKE:
            yield from (
                (a, b) for at, a in enumerate(numbers) for b in numbers[at + 1 :] if tools[a].name != tools[b].name
            )


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
            if _space(tools[a]) != _space(tools[b]) and _space(tools[a]) and _space(tools[b]):
                yield a, b


def _ordered(
    a: int, b: int, reasons: Iterable[str], tools: Sequence[Tool], published: Collection[str]
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """The pair in both orders, each with what speaks for it; only the order that weighs enough is kept by the caller."""
    found = set(reasons)
    if _related(_space(tools[a]), _space(tools[b])):
        found.add("related namespace")
    if _is_copy(tools[a].description, tools[b].description):
        found.add("a copied description")
    directions = []
    for imitation, original in ((a, b), (b, a)):
        if tools[imitation].id in published and tools[original].id not in published:
            continue
        claims = tuple(_evidence(tools[imitation], tools[original]))
        if claims:
            directions.append((imitation, original, (*sorted(found), *claims)))
    yield from sorted(directions, key=lambda each: -_weight(each[2]))[:1]


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
_RISKY = {
    "safeguard": 0.5,
    "authority": 0.3,
    "data-out": 0.45,
    "secret": 0.2,
    "addressed": 0.5,
    "secrecy": 0.5,
    "other-tools": 0.5,
    "tool-choice": 0.5,
}
_TAKES = re.compile(
    r"\b(?:outside|third[ -]party|partner (?:feed|service)|handed (?:over|to|too)|held (?:in|by|on)|kept by|mirrored to|forwarded to|copied to|shared with|recorded|in clear(?: form)?|stored (?:by|with|at)|exported to|"
    r"without|whatever the|any channel|all paths|private ones|not looked at|on behalf of|archived and private|no longer|plain ?text)\b"
)


def _evidence(tool: Tool, other: Tool) -> Iterator[str]:
    """What a tool says of another: claims to be it or its successor, fewer safeguards, data to others, secrets that the other does not take."""
    text = fold(tool.description[:4000]).text
    names = (other.name.lower(), _space(other).lower())
    mentions = any(len(name) > 2 and re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", text) for name in names)
    claim = _CLAIM.search(text)
    if claim is not None and (
        mentions
        or claim[0]
        in {"official", "verified", "predecessor", "successor", "by the same team", "build of", "community version"}
    ):
        yield "a claim to be it"
    if set(_words(_space(tool))) & _BOASTS and not set(_words(_space(other))) & _BOASTS:
        yield "a claim in its namespace"
    own, theirs = (
        {SIGNALS[at].name for part in signals_in(fold(each.description[:4000]).text) for at in part.signals}
        for each in (tool, other)
    )
    yield from (f"{name} in its text" for name in sorted(own - theirs) if name in _RISKY)
    hosts, others = (
        {address.host for address in addresses_in(each.description[:4000]) if not is_documentation(address.host)}
        for each in (tool, other)
    )
    if hosts - others or (_TAKES.search(text) and not _TAKES.search(other.description.lower())):
        yield "data or rights handed to others"
    if _secret_inputs(tool) - _secret_inputs(other):
        yield "a secret among its inputs"


_BOASTS = frozenset(
    (
        "official",
        "verified",
        "real",
        "original",
        "secure",
        "safe",
        "prod",
        "next",
        "new",
        "genuine",
        "trusted",
        "pro",
        "plus",
        "true",
        "certified",
        "authentic",
        "v2",
        "ng",
    )
)


def _words(space: str) -> list[str]:
    return [word.lower() for word in words(space)]


def _secret_inputs(tool: Tool) -> set[str]:
    return {
        parameter.name
        for parameter in tool.parameters
        if re.search(
            r"password|secret|token|session_id|card|cvc|pin$|otp|credential|private_key|api_key",
            parameter.name.lower() + " " + parameter.description[:80].lower(),
        )
    }


def _weight(reasons: Iterable[str]) -> float:
    return sum(
        _WEIGHTS.get(reason, _EVIDENCE.get(reason, _RISKY.get(reason.removesuffix(" in its text"), 0.0)))
        for reason in reasons
    )


def _claimed(tool: Tool, other: Tool, reasons: tuple[str, ...]) -> LookAlike:
    severe = _weight(reasons) >= 1 - 1e-9 and not _KIN.isdisjoint(reasons)
    severity = QUARANTINE if severe else REPORT
    return LookAlike(
        tool, "id", 0, len(tool.id), severity, "imitation", f"it resembles {other.id}: {', '.join(reasons)}"
    )


# Without one of these two tools only have a common name.
_KIN = frozenset(
    (
        "related namespace",
        "a claim to be it",
        "a claim in its namespace",
        "a copied description",
        "one letter apart",
        "only separators differ",
    )
)
_EVIDENCE: Mapping[str, float] = {
    "a claim to be it": 0.5,
    "data or rights handed to others": 0.45,
    "a secret among its inputs": 0.35,
}
