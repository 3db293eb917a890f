"""The words of a request that its graph does not say. Each is named, so that nobody takes the answer for one to the whole request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ontology.errors import InvalidArgumentError
from ontology.names import noun_lemma
from planners.query.parsing.domain_lexicon import FieldName
from planners.query.parsing.field_phrases import BETWEEN
from planners.query.parsing.linking import Links
from planners.query.parsing.mentions import ORDINALS, Mention
from planners.query.parsing.request_words import REQUEST_WORDS

__all__ = ["refuse_superlatives", "unread_words"]

_CONTENT = ("NOUN", "PROPN", "VERB", "ADJ", "ADV", "NUM", "X", "SYM")
_LIGHT = REQUEST_WORDS["light"] | REQUEST_WORDS["asks"] | REQUEST_WORDS["before"] | REQUEST_WORDS["auxiliary"]
_COUNTS = ("how", "many", "number", "count")


def refuse_superlatives(doc: Any, mentions: Sequence[Mention]) -> None:
    """Refuse an order that no domain knows: of "the largest file" nothing would be left but "the file".

    :raises InvalidArgumentError: names the superlative.
    """
    taken = {at for each in mentions for at in each.tokens}
    for token in doc:
        if token.tag_ not in ("JJS", "RBS") or token.i in taken or token.lower_ in ORDINALS:
            continue
        after = [each for each in doc[token.i + 1 : token.i + 2] if each.pos_ in ("ADJ", "ADV")]
        most = after if token.lower_ in ("most", "least") else []
        if any(each.lower_ in ORDINALS for each in most):
            continue
        raise InvalidArgumentError(
            f'a query graph has no order by "{" ".join(each.text for each in (token, *most))}"',
            subject="request",
            remedy='Ask for the "first", "second" or "last" of what has a time, or for all',
        )


def unread_words(doc: Any, links: Links, kept: Sequence[Mention], *, count: bool) -> list[str]:
    """The content words of a request that reached no constraint, action or mode of its graph; those side by side are one text.

    :param kept: the mentions that the graph has.
    :param count: whether the action is to count.
    """
    mentioned = (*links.mentions, *(value for value, _ in links.given))
    known = {at for each in mentioned for at in (*each.tokens, *((each.at,) if each.kind == "implied" else ()))}
    said = _said(links, kept) | ({*_COUNTS} if count else set())
    lost = [token for token in doc if token.i not in known and _is_content(token) and not _is_said(token, said, links)]
    groups: list[list[Any]] = []
    for token in lost:
        last = groups[-1][-1] if groups else None
        between = doc[last.i + 1 : token.i] if last is not None else ()
        if last is not None and all(each.lower_ == "than" for each in between):
            groups[-1].append(token)
        else:
            groups.append([token])
    return list(dict.fromkeys(doc[group[0].i : group[-1].i + 1].text for group in groups))


def _is_content(token: Any) -> bool:
    asked = token.tag_ == "WRB" and token.lower_ in ("how", "why")
    return asked or (token.pos_ in _CONTENT and any(map(str.isalnum, token.text)) and token.tag_ != "WRB")


def _is_said(token: Any, said: set[str], links: Links) -> bool:
    forms = {token.lower_, token.lemma_.casefold(), noun_lemma(token.lower_)}
    leads = any(child.dep_ == "prep" and child.lower_ == "of" for child in token.children)
    return bool(forms & (said | _LIGHT)) or (leads and bool(forms & links.words.field_words.keys()))


def _said(links: Links, kept: Sequence[Mention]) -> set[str]:
    """The words that say what the graph has: its edges, the fields and values of its filters, its ordinals."""
    words, types = links.words, {kind for each in kept for kind in each.types}
    said = {word for word, kinds in words.verbs.items() if types & {*kinds}}
    for link in links.links:
        key = (link.source.types[0], link.edge, link.target.types[0])
        said |= {part for phrase in words.phrases.get(key, ()) for part in phrase.middle}
    for each in kept:
        filters = {FieldName(each.types[0], field) for field, _, _ in each.filters}
        phrases = (phrase for phrase, fields in words.field_words.items() if filters & {*fields})
        said |= {part for phrase in phrases for part in phrase.split()}
        said |= {part for _, _, value in each.filters for part in value.casefold().replace("_", " ").split()}
        said |= {*BETWEEN} if filters else set()
    ordinals = {each.ordinal for each in kept if each.ordinal}
    said |= {word for word, ordinal in ORDINALS.items() if ordinal in ordinals} | ({"most"} if ordinals else set())
    return said
