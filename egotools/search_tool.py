"""The search tool that a model is given: what its description says, its arguments, and how what a model wrote into them is read.

Names of the catalogue stand in the description as slugs, with counts: nothing of a document stands there as a sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from egotools.client_errors import InvalidRequestError
from egotools.values import CatalogInfo, NamespaceSummary

MAX_CHARS = 1_500
"""Characters of a description at most."""
MOST_NEEDS, _MOST_NEED_CHARS = 32, 500  # as the server takes them
_MOST_READ = 1_000  # texts of a model that are looked at
HOW_TO_WRITE_NEEDS = (
    "In `needs` list every capability that the task needs, each a short phrase in words of documentation: a verb and its object. "
    "Include look-ups and checks that come first. Leave out values (names, ids, dates), guess no tool names, and name a system only "
    "if the task does."
)
"""What a model is told that writes needs: an agent before its search, and the model of an operator."""
SEARCH_TEXT = f"Find the tools for a task before any other call. {HOW_TO_WRITE_NEEDS}"
NEEDS_TEXT = "One short phrase for each capability that the task needs."
CONTEXT_TEXT = "The task in plain words, with the values and systems that it names: the context of the needs."
_WORD = re.compile(r"[^\W_]+")
_SLUG = re.compile(r"[\w./-]+")
_MAX_NAME = 32  # characters of a slug
_MAX_WORD = 20  # words that are written as one are a sentence too
_MAX_WORDS = 3  # a longer name may be a sentence, and a sentence an instruction


class Asked(TypedDict):
    """What a model asked the search for; the arguments of :meth:`egotools.Client.retrieve` with these names."""

    query: str
    needs: list[str]


def search_parameters() -> dict[str, Any]:
    """The JSON Schema of the arguments: needs, a query, or both."""
    phrases = {"type": "array", "items": {"type": "string"}, "maxItems": MOST_NEEDS, "description": NEEDS_TEXT}
    return {
        "type": "object",
        "properties": {"needs": phrases, "query": {"type": "string", "description": CONTEXT_TEXT}},
        "additionalProperties": False,
    }


def search_description(info: CatalogInfo, *, text: str = SEARCH_TEXT, max_chars: int = MAX_CHARS) -> str:
    """Return the description of the search tool, of at most so many characters: how it is used (``text``), and what lies behind it.

    :param max_chars: at least 80 more than the text has.
    """
    return f"{text} {searched_text(info.tool_count, info.namespaces, max_chars - len(text) - 1)}"


def searched_text(tool_count: int, namespaces: Sequence[NamespaceSummary], max_chars: int) -> str:
    """Return what lies behind the search in at most so many characters, at least 80; the systems with most tools first."""
    text, named = f"Searched are {tool_count:,} tools", 0
    systems = []
    for each in namespaces:
        objects = ", ".join(filter(None, map(slug, each.objects)))
        if name := slug(each.name):
            systems.append(f"{name} ({each.tool_count:,}{f': {objects}' if objects else ''})")
    if not systems:
        return f"{text}."
    text += " of these systems: "
    for system in systems:
        more = f"; and {len(namespaces) - named:,} more"
        if len(text) + len(system) + len(more) + 3 > max_chars:
            break
        text += f"; {system}" if named else system
        named += 1
    left = len(namespaces) - named
    return f"{text}{'; ' if named else ''}and {left:,} more." if left else f"{text}."


def slug(text: str) -> str:
    """A name of a document as at most three words without spaces between them, as it is where it has none, because it is the value of
    a filter; empty for what is longer.
    """
    words = _WORD.findall(text)
    name = text if _SLUG.fullmatch(text) else "-".join(words).casefold()
    long = len(words) > _MAX_WORDS or len(name) > _MAX_NAME or any(len(word) > _MAX_WORD for word in words)
    return "" if long or not words else name


def read_asked(arguments: object) -> Asked:
    """Return what a model asked for: of its needs those that a request may have, and the query.

    :param arguments: of its call of the search; models give them as JSON text, too.
    :raises InvalidRequestError: where they have neither a need nor a query.
    """
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = None
    given = arguments if isinstance(arguments, Mapping) else {}
    query, needs = given.get("query"), given.get("needs")
    found, _ = usable_needs([needs] if isinstance(needs, str) else needs if isinstance(needs, list) else ())
    query = query if isinstance(query, str) and query.strip() else ""
    if not query and not found:
        problem = "the model searched without a need and without a query"
        raise InvalidRequestError(problem, "needs", "Tell the model so, as the result of its call.")
    return {"query": query, "needs": found}


def usable_needs(written: Sequence[object]) -> tuple[list[str], str]:
    """Return the needs among the texts of a model that a request may have, and in words what was left out; empty for nothing.

    Equal ones count once. One longer than 500 characters is cut; one without a letter is left out, and so are those above 32.
    """
    read = written[:_MOST_READ]
    # Half of a pair of surrogates is no character, and backticks would mark code.
    begun = (each[: 4 * _MOST_NEED_CHARS].encode("utf-8", "ignore").decode() for each in read if isinstance(each, str))
    texts = [" ".join(each.replace("`", " ").split()) for each in begun]
    phrases = [text[:_MOST_NEED_CHARS].rstrip() for text in texts if any(map(str.isalpha, text[:_MOST_NEED_CHARS]))]
    needs: dict[str, str] = {}
    for phrase in phrases:
        needs.setdefault(phrase.casefold(), phrase)
    longest, told = max(map(len, texts), default=0), []
    if len(needs) > MOST_NEEDS:
        told.append(f"only the first {MOST_NEEDS} of {len(needs)} are taken")
    if longest > _MOST_NEED_CHARS:
        told.append(f"what stands after {_MOST_NEED_CHARS} characters is left out")
    if len(read) > len(phrases):
        told.append(f"{len(read) - len(phrases)} without a word are left out")
    return list(needs.values())[:MOST_NEEDS], "; ".join(told)
