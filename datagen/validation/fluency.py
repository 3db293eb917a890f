"""Faults of wording: requests that end in the middle, hold a placeholder, or speak in the words of the documents."""

from __future__ import annotations

import re
from collections.abc import Iterable

from datagen.catalogue import Catalogue
from datagen.validation.parsed_request import Reading
from datagen.validation.stated_values import is_known
from datagen.validation.synonyms import content_words
from ontology.names import words
from ontology.tool import Tool

__all__ = ["Leaks", "incomplete"]

_PLACEHOLDER = re.compile(
    r"\{[^{}]*\}|<[a-z_ -]{1,40}>|\[[A-Za-z_ -]{1,40}\]|%[sd]\b|\$\{|__+|(?<![\w])x{3,}\b|\b(?:tbd|tba|lorem|ipsum|undefined|nan|foobar|placeholder|todo|your_\w+)\b|\?\?\?|\bnull\b",
    re.IGNORECASE,
)
_HANGING = frozenset(
    "the a an my our your their and or but if unless because than of into between per whose every its plus via then whether although "
    "nor until till although onto bc cos cuz".split()
)
_ADRIFT = frozenset("to from with by at for since during towards against within regarding on in under about".split())
_RELATIVE = re.compile(
    r"\b(?:who|whom|what|which|where|that|looking|working|waiting|asking|asked|paid|going|how|whose|used|signed|log|turn|switch|move|bring|put|sign|check|let|come|pass)\b"
)
_GAP = re.compile(
    r"\b(?:from|to|of)\s+on\s+(?!behalf|top|site|call|hold|boarding|time|leave)|\b(?:from|of|until|since|between|with)\s+(?:to|until|and|then|by|from|with|,|;|\.|\?)(?=\s|$)(?!\s+(?:now|then|on)\b)"
    r"|\b(?:to|for|from|with|of|by|at|is|as|named|dated|titled|costing|worth)\s*(?:[,;:]\s|\.(?:\s+\w|$))"
    r"|\b(?:with|under|having)\s+(?:the\s+)?(?:(?!an?\b|their|its|his|her|my|our|that|this|new|same|right|correct|wrong|any|no)\w+\s+){0,2}(?:id|number|code|reference|amount|email|date)\s*(?:[.,;!]|$|and\b|then\b)"
    r"|(?<!has\s)(?<!have\s)(?<!had\s)(?<!been\s)(?<!was\s)(?<!is\s)(?<!who\s)(?<!just\s)\b(?:called|named|titled|dated|numbered)\s*(?:[.,;!?]|$|and\b)|(?:#|\bno\.|\bid|\bnumber)\s*:?\s*(?:[,;]\s*(?:and|then)\b)|[:=]\s*(?:[,.;]|$)|''|\"\"|“”|\(\s*\)"
)
_PHRASAL_END = re.compile(
    r"\b(?:is|are|was|were|it|them|him|her|me|us|this|that|one|ones|signed|logged|going|checked|called|filled|locked|carried|turned|put|what's|who's)\s+(?:for|by|to|from|with|at|of|as|on|in|about|off|up)\s*[,;:.]"
)
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


def incomplete(reading: Reading, vocabulary: Iterable[str]) -> str:
    """What is missing in a request, or empty.

    :param vocabulary: words that a cut-off last word may be the beginning of.
    """
    said = _WORD.findall(reading.plain)
    if (len(said) < 2 and not any(value.kind == "id" for value in reading.values)) or not said:
        return "the request is empty or a single word"
    if len(said) < 2:
        return "the request is a single value"
    if match := _PLACEHOLDER.search(reading.text):
        return f"{match[0]!r} stands in the place of a value"
    return _cut_off(reading, said, vocabulary) or _gap(reading)


def _cut_off(reading: Reading, said: list[str], vocabulary: Iterable[str]) -> str:
    stripped = _SMILEY.sub("", reading.plain.rstrip()).rstrip().rstrip(")\"'”")
    last, before = said[-1], said[-2]
    ends = not stripped.endswith(("?", "!"))
    hangs = last in _HANGING and (ends or last in ("the", "a", "an", "my", "our", "and", "or", "of"))
    if hangs and not (last == "then" and before != "and"):
        return f"it ends with {last!r}, in the middle of a phrase"
    if ends and _begun(last, before, reading):
        return f"it ends with {last!r}, where something is to follow"
    if (
        last in _ADRIFT
        and ends
        and not (_PARTICLE.search(reading.plain.rstrip(" .")) or _RELATIVE.search(reading.plain) or _pronoun(before))
    ):
        return f"it ends with {last!r}, in the middle of a phrase"
    if stripped.endswith((",", ":", "-", "–", "(", "/", "&")):
        return f"it ends with {stripped[-1]!r}, in the middle of a sentence"
    if _SMILEY.sub("", reading.text).count("(") > reading.text.count(")") or reading.text.count('"') % 2:
        return "a bracket or a quote is opened and never closed"
    if stripped[-1:].isalpha() and _is_stump(last, reading, vocabulary):
        return f"it ends with {last!r}, in the middle of a word"
    return ""


_SMILEY = re.compile(r"\s*[:;=]['-]?[()dpo/|]\s*$")


_PARTICLE = re.compile(
    r"\b(?:got|have|has|had|get|getting|having|let|want|need)\b[^,.;?!]*\bin$|\b(?:now|later|early|and\s+so|hold|carry|hang|dragged?|on\s+and)\s+on$"
    r"|\b(?:finish|finished|done|deal|help|start|started|do|go|goes|come|comes|work|speak|talk|meet|agree|fine|ok|happy|busy|along|trouble|problems?)\s+with$"
)
"""Ends that are no beginning: ``the builders in``, ``from now on``, ``not finished with``."""
_BEGUN = frozenset("i he she we they there's i'm i've i'll i'd we'd we're he's she's they're you're".split())
_INVERTED = frozenset("is are am was were than do does did can will could would should and has have had as".split())
_VERBLESS = re.compile(
    r"\b(?:if|who|what|where|when|how|which|whether|as|than|that|because|whatever|wherever|yes|so|think|know|all)\b"
)


def _begun(last: str, before: str, reading: Reading) -> bool:
    """Whether a clause is begun and not said: it ends with its subject or its auxiliary."""
    if last in _BEGUN:
        return before not in _INVERTED
    unsaid = last in ("are", "is", "was", "were", "can", "could", "will", "would", "have", "has", "should", "must")
    return unsaid and not _VERBLESS.search(reading.plain[-60:])


def _pronoun(word: str) -> bool:
    return word in ("it", "me", "him", "her", "them", "us", "you", "this", "that") or word.endswith("ing")


def _is_stump(word: str, reading: Reading, vocabulary: Iterable[str]) -> bool:
    """Whether the last word is the beginning of another and none by itself."""
    if (
        len(word) < 2
        or (len(word) > 2 and is_known(word))
        or word in _SHORT
        or any(value.end >= len(reading.text.rstrip()) and value.kind != "name" for value in reading.values)
    ):
        return False
    if reading.text.rstrip()[-len(word) :][:1].isupper():
        return False
    return any(other.startswith(word) and len(other) > len(word) for other in vocabulary)


_SHORT = frozenset(
    "pls plz thx ok me it us up by at in on to so no go do is am pm i too yet now out off hq hr vp kg km mm cm hrs min mins asap ta".split()
)


def _gap(reading: Reading) -> str:
    text = reading.plain
    for match in _GAP.finditer(text):
        around = text[max(0, match.start() - 12) : match.end()]
        if (
            match[0].split()[0].strip(",.;:") in _ADRIFT | {"of", "is", "as"}
            and (_PHRASAL_END.search(around) or _RELATIVE.search(text[: match.start()]))
            and len(match[0].split()) < 2
        ):
            continue
        return f"a value is announced and missing at {match[0].strip()!r}"
    return ""


_CAMEL = re.compile(r"\b[a-z]{2,}[a-z0-9]*(?:[A-Z][a-z0-9]+)+\b")
_SNAKE = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")
_PASCAL = re.compile(r"\b(?:[A-Z][a-z0-9]+){2,}\b")
_DOTTED = re.compile(r"(?<![\w@/.])[A-Za-z_]+(?:\[\])?(?:\.[A-Za-z_]+(?:\[\])?)+(?![\w@])")
_ENDPOINT = re.compile(
    r"\b(?:GET|POST|PUT|PATCH|DELETE)\s+/|(?<![\w:/.])/[a-z][\w-]*/[\w{}/-]+|\$(?:filter|top|skip|select|expand|orderby)\b"
)
_JARGON = re.compile(
    r"\b(?:endpoint|payload|api call|function call|tool call|json|boolean|query string|input parameter)s?\b"
)
_URL = re.compile(
    r"https?://\S+|\S+@\S+|\S+\.(?:pdf|jpe?g|png|docx?|xlsx?|csv|txt|pptx?|zip|eml|msg|step|stp|dxf|dwg|json|xml|html?|log|gif|svg|mp4|mov|heic|tiff?)\b",
    re.IGNORECASE,
)
_RUN = 5


class Leaks:
    """Finds names and phrases of the documents in requests.

    :param catalogue: whose tools' and parameters' names are internal.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        names = {tool.name for tool in catalogue.tools} | {tool.id for tool in catalogue.tools}
        names |= {parameter.name for tool in catalogue.tools for parameter in tool.parameters}
        self._names = frozenset(name for name in names if len(words(name)) > 1 and " " not in name)
        self.vocabulary = frozenset(word for tool in catalogue.tools for text in _texts(tool) for word in words(text))
        """Every word of the documents."""
        self._runs: dict[str, frozenset[tuple[str, ...]]] = {}

    def found(self, reading: Reading, tools: Iterable[str]) -> str:
        """What a request gives away, or empty."""
        text = _URL.sub(" ", reading.text)
        for pattern in (_SNAKE, _PASCAL, _DOTTED):
            for match in pattern.finditer(text):
                if match[0] in self._names or (pattern is _SNAKE and "_" in match[0] and match[0].islower()):
                    return f"{match[0]!r} is a name out of the documents"
        for match in _CAMEL.finditer(text):
            if match[0] in self._names or match[0][:3] not in ("mac", "you"):
                return f"{match[0]!r} is a name out of the documents"
        if endpoint := _ENDPOINT.search(text):
            return f"{endpoint[0]!r} is part of an interface"
        if jargon := _JARGON.search(reading.plain):
            return f"{jargon[0]!r} is a word of developers, not of users"
        for tool_id in tools:
            if tool_id in text or f"/{tool_id.rpartition('/')[2]}" in text:
                return f"{tool_id!r} is the id of a tool"
        return self._verbatim(reading, tools)

    def _verbatim(self, reading: Reading, tools: Iterable[str]) -> str:
        said = content_words(reading.text)
        runs = {tuple(said[at : at + _RUN]) for at in range(len(said) - _RUN + 1)}
        for tool_id in tools:
            for run in sorted(runs & self._of(tool_id)):
                return f"{' '.join(run)!r} stands word for word in the description of {tool_id}"
        return ""

    def _of(self, tool_id: str) -> frozenset[tuple[str, ...]]:
        if tool_id not in self._runs:
            self._runs[tool_id] = frozenset(_described(self._catalogue.tool(tool_id)))
        return self._runs[tool_id]


def _described(tool: Tool) -> Iterable[tuple[str, ...]]:
    for text in _texts(tool):
        said = content_words(text)
        yield from (tuple(said[at : at + _RUN]) for at in range(len(said) - _RUN + 1))


def _texts(tool: Tool) -> Iterable[str]:
    yield tool.description
    yield tool.title
    for parameter in tool.parameters:
        yield parameter.description
        yield parameter.name
