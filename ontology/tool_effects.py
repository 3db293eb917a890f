"""The effect of a call of a tool, as far as its document says; what is not known counts as a change.

HTTP and OData: by the method. A GET counts as a change, and is not sent again, where the tool's name, a literal part of its path, or a
value that it always sends (``?action=delete``) is named for one, or where it takes another method as an argument: many servers change
things by GET. MCP: by the annotations ``readOnlyHint`` and ``idempotentHint``, which are what the server says of itself. A Python function: by
the same hints in its metadata, else by the verb that its name begins with. An operation of AWS, whose calls have the credentials of the
operator: by that verb; a hint that it reads only changes nothing.

A word is evidence, no proof: a GET named ``ring_bell`` counts as reading, and some GETs that only read count as a change (.3 % of 12,052 of
Google, Kubernetes, TMDB and Spotify). Whoever must be sure writes a policy. The words are in ``effect_words.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import parse_qsl, unquote

from egotools import values
from egotools.call import Call
from ontology.files import read_yaml
from ontology.names import is_noun, is_verb, is_word, words
from ontology.tool import Tool

__all__ = ["Effect", "effect_of", "known_effect_of"]

_FILE = Path(__file__).with_name("effect_words.yaml")
_PREFIXES = ("un", "re", "de", "dis")  # unban, reindex, deregister


@cache
def effect_words(use: str) -> frozenset[str]:
    """Return the lower-case words of one list of ``effect_words.yaml``; raise KeyError for an unknown list."""
    return frozenset(read_yaml(_FILE)[use].split())


@lru_cache(maxsize=1 << 14)
def is_changing_verb(word: str) -> bool:
    """Whether a lower-case word is a verb that is no noun and neither reads nor computes."""
    if word in effect_words("reads") | effect_words("computes"):
        return False
    if is_word(word):
        return is_verb(word) and not is_noun(word)
    return any(word.startswith(prefix) and is_verb(word[len(prefix) :]) for prefix in _PREFIXES)


Effect: TypeAlias = Literal["read", "idempotent", "change"]
"""What a call does: nothing; the same, however often it is made; or something of its own each time."""

_READ_ONLY = ("read_only", "readOnlyHint")
_DESTRUCTIVE = ("destructive", "destructiveHint")
_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})  # RFC 9110, section 9.2.1
# Section 9.2.2, without the methods that read: a GET that does more than read keeps to no promise.
_IDEMPOTENT_METHODS = frozenset({"PUT", "DELETE"})
# A server may take one of these for the method itself.
_OTHER_METHOD = frozenset({"x-http-method-override", "x-http-method", "x-method-override", "_method", "-method"})
_READS = effect_words("reads")
_VERBS = effect_words("verbs")
_NOUN_VERBS = effect_words("noun_verbs")
_ACTIONS = effect_words("actions") | _OTHER_METHOD
_JOINING = frozenset({"and", "or", "then"})  # get_or_create, fetch_and_lock
_CHANGES_ANYWHERE = _JOINING | _VERBS | {"swap", "update"}  # of a function: compare_and_swap
_PARTICLES = frozenset({"in", "out"})  # CheckInLicense
_VARIABLE = re.compile(r"\{[^{}]*\}")
_FUNCTION_ARGUMENTS = re.compile(r"\([^()]*\)")  # of OData: Delete(id={id})
_PARTS = re.compile("[/:;=]")

Described: TypeAlias = Tool | values.Tool
"""A tool of a catalogue, or of an answer."""


def effect_of(tool: Described) -> Effect:
    """Return what a call of the tool does."""
    call, hint = tool.call or Call(), _hint(tool, *_READ_ONLY)
    may_read = hint is not False and not _hint(tool, *_DESTRUCTIVE)
    if call.protocol in ("http", "odata"):
        query = parse_qsl(call.path.partition("?")[2].replace(";", "&"), keep_blank_values=True)
        places = [*(each.wire_name or each.name for each in call.arguments), *(key for key, _ in query)]
        if {place.casefold().partition("[")[0].replace("_", "-") for place in places} & _OTHER_METHOD:
            return "change"
        if call.method in _READING_METHODS and may_read and not _is_named_for_a_change(tool, call, query):
            return "read"
        return "idempotent" if call.method in _IDEMPOTENT_METHODS else "change"
    if call.protocol == "aws" or (call.protocol == "python" and hint is None):
        reads = _reads_by_name(call.operation.rpartition(":")[2])
    else:
        reads = hint is True
    if reads and may_read:
        return "read"
    return "idempotent" if _hint(tool, "idempotent", "idempotentHint") is True else "change"


def known_effect_of(tool: Described) -> Effect | None:
    """Return what a call of the tool does, where its document, its method or its name says so; None: nothing does.

    It is for people who ask about tools. A call is decided about by :func:`effect_of`, which takes no name of a tool for a promise
    where a document does not say how the tool is called.
    """
    effect = effect_of(tool)
    is_called = tool.call is not None and tool.call.method
    if effect != "change" or is_called or _hint(tool, *_READ_ONLY) is not None or _hint(tool, *_DESTRUCTIVE):
        return effect
    if _reads_by_name(tool.name):
        return "read"
    return "change" if _says_a_change(tool.name) else None


def _is_named_for_a_change(tool: Described, call: Call, query: Iterable[tuple[str, str]]) -> bool:
    # The words of the path, without those of its variables and of the arguments of OData's functions.
    literal = _FUNCTION_ARGUMENTS.sub("", _VARIABLE.sub("{", unquote(call.path.partition("?")[0])))
    parts = [found for part in _PARTS.split(literal) if (found := words(part.partition("{")[0]))]
    if any(len(part) == 1 and part[0] in _VERBS for part in parts):
        return True
    if _says_a_change(tool.name, parts[-1] if parts else []):
        return True
    # Each parameter with a value that it always has; of one that must say what is done, with each that it may have.
    fixed = list(query)
    wire = {each.name: each.wire_name or each.name for each in call.arguments}
    for parameter in tool.parameters:
        key = wire.get(parameter.name, parameter.name)
        if len(parameter.enum) == 1 or (parameter.required and key.casefold() in _ACTIONS):
            fixed += ((key, value) for value in parameter.enum)
    return any(_asks_for_a_change(key, value) for key, value in fixed)


def _says_a_change(name: str, place: Sequence[str] = ()) -> bool:
    """Whether a name, or the words of the last literal part of the path, are those of a change."""
    named, own = words(name), words(name.rpartition(".")[2])
    if _VERBS & {*named, *place} or (own and (own[0] in _NOUN_VERBS or is_changing_verb(own[0]))):
        return True
    if len(own) > 1 and own[0] in effect_words("first_verbs") and own[-1] not in _READS:
        return True
    if _READS & set(named):
        return False
    return any(word in _NOUN_VERBS or is_changing_verb(word) for word in (*own[-1:], *place[:1], *place[-1:]))


def _asks_for_a_change(key: str, value: str) -> bool:
    """Whether ``key=value`` does, or ``key`` alone (``?delete``)."""
    if key.casefold() in _ACTIONS:
        return _says_a_change(value) or bool(effect_words("first_verbs").intersection(words(value)[:1]))
    said = words(value or key)
    return len(said) == 1 and said[0] in _VERBS


def _hint(tool: Described, *keys: str) -> bool | None:
    metadata = tool.metadata
    return next((metadata[key] for key in keys if isinstance(metadata.get(key), bool)), None)


def _reads_by_name(name: str) -> bool:
    parts = words(name.rpartition(".")[2])
    if not parts or parts[0] not in effect_words("function_reads") or _PARTICLES & set(parts[1:2]):
        return False
    return not _CHANGES_ANYWHERE & set(parts)
