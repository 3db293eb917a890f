"""The words that typed values stand for: a value is matched by the noun of its kind, and by what its text says.

What the snapshot knows a value to identify comes first: "C-21066" is a customer. Of a file name the extension says what it is, of an
address the host says which service it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from ontology.names import words
from ontology.yaml_data import read_yaml
from retrieval.query.decompose import Spans
from retrieval.query.typed_values import LEAST_SPECIFIC, VALUE_WORDS, TypedValue, kind_of_token

__all__ = ["noun_of", "split_at_values", "typed_text"]

# The kinds that are replaced, a path segment by segment. Others are words too: a quoted text is often the name of what is wanted, a date says "tomorrow". Chosen on
# the mean of fourteen sets: to replace quoted texts too costs 0.6 points at 10, and 6.7 on metatool.
_REPLACED = frozenset(
    {
        *("url", "domain", "email", "arn", "ip", "iban", "phone", "uuid", "hex digest", "identifier", "code"),
        *("channel", "handle", "file", "path", "repository", "branch", "variable"),
    }
)
_MOST_ENTITIES = 2  # a shape of more kinds of things says none of them
_MAX_ADDRESS_WORDS = 4
_SCHEME = re.compile(r"\A[a-z0-9]{1,10}://")
_WORD = re.compile(r"[^\W\d_]{3,40}")
_SEGMENT = re.compile(r"[^/\\{}]+")


def split_at_values(text: str, values: Sequence[TypedValue], spans: Spans) -> Iterator[tuple[str, TypedValue | None]]:
    """Yield the pieces of parts of a text in order: words with None, and each value that stands for other words.

    Between two parts comes a space. It takes time linear in their number and in that of the values.
    """
    replaced = (value for value in values if value.kind in _REPLACED)
    value = next(replaced, None)
    for number, (start, end) in enumerate(spans):
        if number:
            yield " ", None
        at = start
        while value is not None and value.start < end:
            if at <= value.start:
                yield text[at : value.start].replace("`", ""), None
                yield from _path_pieces(value) if value.kind == "path" else ((value.text, value),)
                at = value.end
            value = next(replaced, None)
        yield text[at:end].replace("`", ""), None


def _path_pieces(path: TypedValue) -> Iterator[tuple[str, TypedValue | None]]:
    """The segments of a path: words, and the values among them: ``/orders/{orderId}/items/PO-4711``."""
    for number, segment in enumerate(_SEGMENT.finditer(path.text)):
        if number:
            yield " ", None
        if kind := kind_of_token(segment[0]):
            start = path.start + segment.start()
            yield segment[0], TypedValue(kind=kind, text=segment[0], start=start, end=start + len(segment[0]))
        else:
            yield " ".join(words(segment[0])), None


def typed_text(text: str, values: Sequence[TypedValue], spans: Spans) -> str:
    """The text for the encoder of parts of a request, joined by spaces: each value is replaced by its noun."""
    pieces = split_at_values(text, values, spans)
    return "".join(piece if value is None else noun_of(value) for piece, value in pieces)


def noun_of(value: TypedValue) -> str:
    """The words that a value stands for, 1 or more."""
    data = read_yaml(VALUE_WORDS)
    noun = str(data["nouns"].get(value.kind, value.kind))
    if value.kind == "file":
        return str(data["extensions"].get(value.text.rpartition(".")[2].lower(), noun))
    if value.kind in ("url", "domain"):
        return " ".join((*_host_words(value.text), noun))
    return _entity(value) or noun


def _entity(value: TypedValue) -> str:
    """What the snapshot knows a value to identify; empty where that is unknown or ambiguous.

    The entities "employee" and "owner employee" are one, the shorter.
    """
    for match in value.matches:
        if match.specificity < LEAST_SPECIFIC:
            break
        if all(use.is_widened for use in match.uses):
            continue
        heads: dict[str, str] = {}
        for entity in match.entities:
            head = entity.rpartition(" ")[2]
            heads[head] = min(heads.get(head, entity), entity, key=lambda name: (len(name), name))
        if heads and len(heads) <= _MOST_ENTITIES:
            return " ".join(heads.values())
    return ""


def _host_words(address: str) -> list[str]:
    """The words of the host of an address that say which service it is: ``github`` of ``https://github.com/acme/web``."""
    host = _SCHEME.sub("", address.lower()).partition("/")[0].partition("?")[0]
    return [word for word in _WORD.findall(host) if word not in _no_service()][:_MAX_ADDRESS_WORDS]


@cache
def _no_service() -> frozenset[str]:
    return frozenset(read_yaml(VALUE_WORDS)["address_words"].split())
