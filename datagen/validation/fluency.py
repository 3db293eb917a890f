"""Errors of wording: requests that end in the middle, have no value, or copy the words of the documents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from datagen.patterns import load_patterns
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.validation.parsed_request import ParsedRequest
from datagen.validation.stated_values import is_known_word
from datagen.validation.synonyms import content_words
from ontology.names import words
from ontology.tool import Tool

__all__ = ["DocumentLeaks", "find_incompleteness"]

_FLUENCY = load_patterns("validation/fluency")
_NO_CAMEL_CASE = ("mac", "you")  # first parts of everyday words in camel case: macOS, YouTube
_ENDS_NOWHERE = (",", ":", "-", "–", "(", "/", "&")
_CHARS_BEFORE_AUXILIARY = 60
_CHARS_BEFORE_GAP = 12
_RUN = 5  # content words in a row that no request shares with a document by chance


def find_incompleteness(parsed: ParsedRequest, vocabulary: Collection[str]) -> str:
    """What is missing in a request, or empty.

    :param vocabulary: words that a cut-off last word may be the beginning of.
    """
    tokens = _FLUENCY["word"].findall(parsed.masked)
    if len(tokens) < 2:
        value = tokens and any(value.kind == "id" for value in parsed.values)
        return "the request is a single value" if value else "the request is empty or a single word"
    if match := _FLUENCY["placeholder"].search(parsed.text):
        return f"{match[0]!r} stands in the place of a value"
    return _cut_off(parsed, tokens[-1], tokens[-2], vocabulary) or _gap(parsed)


def _cut_off(parsed: ParsedRequest, last: str, before: str, vocabulary: Collection[str]) -> str:
    """Where the request ends in the middle of a phrase, a sentence or a word."""
    end = _FLUENCY["smiley"].sub("", parsed.masked.rstrip()).rstrip().rstrip(")\"'”")
    closed = end.endswith(("?", "!"))
    if (
        last in _FLUENCY.words("unfinished")
        and (not closed or last in _FLUENCY.words("unfinished_always"))
        and not (last == "then" and before != "and")
    ):
        return f"it ends with {last!r}, in the middle of a phrase"
    if not closed and _is_begun(last, before, parsed):
        return f"it ends with {last!r}, where something is to follow"
    if not closed and last in _FLUENCY.words("prepositions") and not _may_end(before, parsed):
        return f"it ends with {last!r}, in the middle of a phrase"
    if end.endswith(_ENDS_NOWHERE):
        return f"it ends with {end[-1]!r}, in the middle of a sentence"
    if _FLUENCY["smiley"].sub("", parsed.text).count("(") > parsed.text.count(")") or parsed.text.count('"') % 2:
        return "a bracket or a quote is opened and never closed"
    if end[-1:].isalpha() and _is_stump(last, parsed, vocabulary):
        return f"it ends with {last!r}, in the middle of a word"
    return ""


def _is_begun(last: str, before: str, parsed: ParsedRequest) -> bool:
    """Whether a clause ends with its subject or its auxiliary, and its verb is missing."""
    if last in _FLUENCY.words("subjects"):
        return before not in _FLUENCY.words("inversion")
    return last in _FLUENCY.words("auxiliaries") and not _FLUENCY["verb_last"].search(
        parsed.masked[-_CHARS_BEFORE_AUXILIARY:]
    )


def _may_end(before: str, parsed: ParsedRequest) -> bool:
    """Whether a request may end with a preposition."""
    if before in _FLUENCY.words("pronouns") or before.endswith("ing"):
        return True
    particle = _FLUENCY["final_particle"].search(parsed.masked.rstrip(" ."))
    return particle is not None or _FLUENCY["takes_preposition"].search(parsed.masked) is not None


def _is_stump(word: str, parsed: ParsedRequest, vocabulary: Collection[str]) -> bool:
    """Whether the last word is the beginning of another and none by itself."""
    text = parsed.text.rstrip()
    if len(word) < 2 or (len(word) > 2 and is_known_word(word)) or word in _FLUENCY.words("short_words"):
        return False
    if any(value.end >= len(text) and value.kind != "name" for value in parsed.values):
        return False
    if text[-len(word) :][:1].isupper():
        return False
    return any(other.startswith(word) and len(other) > len(word) for other in vocabulary)


def _gap(parsed: ParsedRequest) -> str:
    """Where a value is announced and missing."""
    text = parsed.masked
    for match in _FLUENCY["gap"].finditer(text):
        first = match[0].split()[0].strip(",.;:")
        if len(match[0].split()) < 2 and (first in _FLUENCY.words("prepositions") or first in ("of", "is", "as")):
            around = text[max(0, match.start() - _CHARS_BEFORE_GAP) : match.end()]
            if _FLUENCY["phrasal_end"].search(around) or _FLUENCY["takes_preposition"].search(text[: match.start()]):
                continue
        return f"a value is announced and missing at {match[0].strip()!r}"
    return ""


class DocumentLeaks:
    """Finds names and phrases of the documents in requests.

    :param catalogue: whose tools' and parameters' names are internal.
    """

    def __init__(self, catalogue: ProfiledCatalogue) -> None:
        self._catalogue = catalogue
        names = {name for tool in catalogue.tools for name in (tool.name, tool.id, *(p.name for p in tool.parameters))}
        self._names = frozenset(name for name in names if len(words(name)) > 1 and " " not in name)
        self.vocabulary = frozenset(word for tool in catalogue.tools for text in _texts(tool) for word in words(text))
        """Every word of the documents."""
        self._runs: dict[str, frozenset[tuple[str, ...]]] = {}

    def find(self, parsed: ParsedRequest, tools: Iterable[str]) -> str:
        """The first name or phrase of the documents in a request, in a sentence; or empty."""
        text = _FLUENCY["address_or_file"].sub(" ", parsed.text)
        name = next(self._spelt_names(text), "")
        if name:
            return f"{name!r} is a name out of the documents"
        if endpoint := _FLUENCY["endpoint"].search(text):
            return f"{endpoint[0]!r} is part of an interface"
        if jargon := _FLUENCY["jargon"].search(parsed.masked):
            return f"{jargon[0]!r} is a word of developers, not of users"
        for tool_id in tools:
            if tool_id in text or f"/{tool_id.rpartition('/')[2]}" in text:
                return f"{tool_id!r} is the id of a tool"
        return self._verbatim(parsed, tools)

    def _spelt_names(self, text: str) -> Iterator[str]:
        """Names as machines spell them."""
        snake_case = [match[0] for match in _FLUENCY["snake_case"].finditer(text)]
        yield from (name for name in snake_case if name in self._names or name.islower())
        for pattern in (_FLUENCY["pascal_case"], _FLUENCY["dotted"]):
            yield from (match[0] for match in pattern.finditer(text) if match[0] in self._names)
        camel_case = [match[0] for match in _FLUENCY["camel_case"].finditer(text)]
        yield from (name for name in camel_case if name in self._names or name[:3] not in _NO_CAMEL_CASE)

    def _verbatim(self, parsed: ParsedRequest, tools: Iterable[str]) -> str:
        runs = set(_runs(parsed.text))
        for tool_id in tools:
            for run in sorted(runs & self._described(tool_id)):
                return f"{' '.join(run)!r} stands word for word in the description of {tool_id}"
        return ""

    def _described(self, tool_id: str) -> frozenset[tuple[str, ...]]:
        if tool_id not in self._runs:
            texts = _texts(self._catalogue.tool(tool_id))
            self._runs[tool_id] = frozenset(run for text in texts for run in _runs(text))
        return self._runs[tool_id]


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """The runs of content words of a text."""
    tokens = content_words(text)
    return (tuple(tokens[at : at + _RUN]) for at in range(len(tokens) - _RUN + 1))


def _texts(tool: Tool) -> Iterator[str]:
    """The texts of a tool's document."""
    yield from (tool.description, tool.title)
    for parameter in tool.parameters:
        yield from (parameter.description, parameter.name)
