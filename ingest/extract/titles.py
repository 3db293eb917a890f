"""What the name of an operation says: ``listPurchaseOrders`` lists purchase orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ingest.extract.noun_phrases import clean_phrase
from ingest.extract.parameters import path_things
from ingest.extract.word_lists import MOSTLY_NOUNS, STOP_WORDS, TRANSPARENT_HEADS, action
from ontology.names import canonical_name, is_noun, words
from ontology.tool import Tool

__all__ = ["Title", "read_path", "read_title"]

_MAX_WORDS = 14
_MAX_OBJECT_WORDS = 4
# At the end of a name these are verbs ("file_write"); others there are nouns ("purchase_order").
_LAST_VERBS = frozenset(
    "add approve assign calculate cancel close create delete edit fetch find generate get insert modify open publish query read "
    "reject remove reserve retrieve search send submit subscribe unsubscribe update upload download verify write".split()
)

_PREPOSITIONS = frozenset(
    "of in on at by for with from to into and or via per as about between within without using".split()
)
_PATH_VERBS = frozenset("search find discover lookup query cancel approve reject pause resume archive restore".split())
_INNER_VERBS = _LAST_VERBS - {"query", "search", "update", "upload", "download", "read", "close"} | frozenset(
    "browse select view track manage enable disable set list get schedule check book start stop send share log".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """What a name says.

    :param verbs: base forms of what it does: one, or two for ``createOrUpdateCustomer``.
    :param target: canonical name of what it is done to, or empty.
    :param others: canonical names of the other things it speaks of.
    """

    verbs: tuple[str, ...] = ()
    target: str = ""
    others: tuple[str, ...] = ()

    @property
    def capabilities(self) -> tuple[str, ...]:
        """Verb and object, for each verb."""
        said = " ".join(self.target.split()[-_MAX_OBJECT_WORDS:])
        return tuple(f"{verb} {said}" for verb in self.verbs) if said else ()


def read_title(name: str, abbreviations: Mapping[str, str]) -> Title:
    """Read an operation's name word by word; no parser is asked.

    >>> read_title("sendInvoiceToCustomer", {})
    Title(verbs=('send',), target='invoice', others=('customer',))
    """
    tokens = words(name)[:_MAX_WORDS]
    verbs, tokens = _leading_verbs(tokens)
    if not verbs and len(tokens) > 1 and action(tokens[-1]) in _LAST_VERBS and tokens[-1] == action(tokens[-1]):
        verbs, tokens = [tokens[-1]], tokens[:-1]
    lead: list[str] = []
    if not verbs:
        position = next((p for p in (1, 2) if p < len(tokens) - 1 and action(tokens[p]) in _INNER_VERBS), 0)
        if position:  # "lufthansa_select_seat": the application, then what it does
            lead, verbs, tokens = tokens[:position], [action(tokens[position])], tokens[position + 1 :]
    things = [thing for group in _groups(tokens) if (thing := _thing(group, abbreviations))]
    first = _thing(next(iter(_groups(tokens)), []), abbreviations)
    things += [thing for thing in (_thing(lead, abbreviations),) if thing]
    if not things:
        first = _last_resort(tokens)
    others = tuple(dict.fromkeys(thing for thing in things if thing != first))
    return Title(verbs=tuple(verbs), target=first, others=others)


def _leading_verbs(tokens: list[str]) -> tuple[list[str], list[str]]:
    """The verb a name begins with, or both of "create or update", and the words after."""
    if not tokens or not action(tokens[0]) or (tokens[0] in MOSTLY_NOUNS and len(tokens) > 1):
        return [], tokens
    if len(tokens) > 2 and tokens[1] in ("or", "and") and action(tokens[2]):
        return [action(tokens[0]), action(tokens[2])], tokens[3:]
    return [action(tokens[0])], tokens[1:]


def read_path(tool: Tool) -> Title | None:
    """Read an operation whose name is only its method and path: the last thing in the path is what it is about.

    None when the tool has no path, or a name of its own.
    """
    path = tool.metadata.get("path")
    if not isinstance(path, str) or "/" not in path:
        return None
    spelled = words(path)
    named = words(tool.name)
    verb = named[0] if named else ""
    if named[-len(spelled) :] != spelled or len(named) - len(spelled) > 1:
        return None
    things = path_things(path)
    inner = [word for word in spelled if word in _PATH_VERBS]
    if inner:
        things = [thing for thing in things if thing not in _PATH_VERBS]
        verb = inner[-1]
    elif (
        len(things) > 1
        and action(things[-1]) == things[-1]
        and things[-1] not in MOSTLY_NOUNS
        and not path.endswith("}")
    ):
        verb = things.pop()  # /orders/{order_id}/cancel
    target = things[-1] if things else ""
    others = tuple(dict.fromkeys(thing for thing in things if thing != target))
    return Title(verbs=(action(verb),) if action(verb) else (), target=target, others=others)


def _groups(tokens: list[str]) -> list[list[str]]:
    """The words between prepositions, the last run of each first: "the users currently playing track" is about the track.

    A run begins anew after a number ("core v1 pod" is about the pod).
    """
    groups: list[list[str]] = []
    runs: list[list[str]] = [[]]
    for token in [*tokens, "by"]:
        if token in _PREPOSITIONS:
            groups.extend(run for run in reversed(runs) if run)
            runs = [[]]
        elif token in STOP_WORDS:
            runs.append([])
        elif not token.isalpha():
            runs[-1].clear()
        else:
            runs[-1].append(token)
    return groups


def _last_resort(tokens: list[str]) -> str:
    """What a name is about that has only common words: ``get_current_date`` is about the date."""
    said = [token for token in tokens if token.isalpha() and token not in STOP_WORDS | TRANSPARENT_HEADS]
    name = canonical_name(" ".join(said[-2:]))
    return name if name and is_noun(name.rpartition(" ")[2]) else ""


def _thing(tokens: list[str], abbreviations: Mapping[str, str]) -> str:
    start, end = clean_phrase(tokens)
    name = canonical_name(" ".join(tokens[start:end]), abbreviations)
    return name if name and is_noun(name.split()[-1]) else ""
