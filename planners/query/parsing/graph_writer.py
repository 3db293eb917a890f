"""Linked mentions → the query graph: what is returned, how many, ordinals, dates, and names for the variables."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from ontology.errors import InvalidArgumentError
from planners.query.parsing.linking import Links
from planners.query.parsing.mentions import Mention
from planners.query.parsing.request_words import REQUEST_WORDS
from planners.query.parsing.unread_words import unread_words
from planners.query.query_graph import QueryGraph

__all__ = ["write_graph"]

_COUNT = re.compile(r"\b(?:how many|count|the number of)\b", re.IGNORECASE)
_LEADS = REQUEST_WORDS["before"] | REQUEST_WORDS["asks"] | REQUEST_WORDS["counts"]


def write_graph(text: str, doc: Any, links: Links) -> tuple[QueryGraph, list[str], list[str]]:
    """Return the graph of linked mentions, what had to be left out, and what was assumed.

    :raises InvalidArgumentError: when nothing that the domain knows is mentioned.
    """
    left_out = _refused(doc, links)
    _forget_doubles(links)
    returned = _returned(doc, links)
    _place_dates(doc, links)
    for through in (False, True):  # an entity between two is invented only where no edge joins any
        for mention in sorted(links.mentions, key=lambda each: each.at):
            if mention not in links.reached(returned):
                _attach(mention, returned, links, through=through)
    for mention in sorted(links.mentions, key=lambda each: each.at):
        if mention not in links.reached(returned):
            word = mention.word or links.domain.types[mention.types[0]].variable
            left_out.append(f'"{word}" is left out: nothing in the domain joins it to the rest of the request.')
    kept = sorted(links.reached(returned), key=lambda each: each.at)
    for mention in kept:
        if mention.kind == "value":
            _name(mention, links)
    _place_ordinals(kept, links, left_out)
    graph, names = _graph(text, returned, kept, links)
    assumed = []
    for link in links.assumed:
        if link in links.links and link.source in names:
            source, target = names[link.source], names[link.target]
            assumed.append(
                f"It is assumed that {source} and {target} are joined by {link.edge}; the request does not say how."
            )
    unread = unread_words(doc, links, kept, count=graph.action == "count")
    return graph, [*left_out, *(f'"{words}" is not understood and left out.' for words in unread)], assumed


def _refused(doc: Any, links: Links) -> list[str]:
    """Notes of what a graph cannot say.

    :raises InvalidArgumentError: for what is not so: an answer without the "not" would be the opposite of what was asked.
    """
    mentioned = (*links.mentions, *(value for value, _ in links.given))
    values = {at for each in mentioned if each.kind == "value" for at in each.tokens}
    said = next(
        (
            token
            for token in doc
            if token.i not in values
            and (token.lower_ in REQUEST_WORDS["excludes"] or (token.lower_ == "no" and token.dep_ in ("det", "neg")))
        ),
        None,
    )
    if said is not None:
        raise InvalidArgumentError(
            f'a query graph cannot exclude anything, and the request says "{said.text}"',
            subject="request",
            remedy="Ask for what is so, and leave the rest out of the answer",
        )
    either = any(token.lower_ == "or" for token in doc)
    return ['"or" is read as if both were asked for: a query graph has no alternatives.'] if either else []


def _name(value: Mention, links: Links) -> None:
    """A value that stands for an entity is its name, or the field whose form it has.

    :raises InvalidArgumentError: when nothing in the domain has names.
    """
    if not value.types:
        raise InvalidArgumentError(
            f'nothing in this domain is called by a name, and the request says "{value.word}"',
            subject="request",
            remedy="Name a field with it",
        )
    kind = value.types[0]
    field = next((each.field for each in value.fields if each.kind == kind), links.words.names.get(kind, ""))
    value.filters.append((field, "=", value.word))


def _forget_doubles(links: Links) -> None:
    """What a noun implied is what the request mentions after all, where both are at the other end of one edge."""
    for implied in [each for each in links.mentions if each.kind == "implied" and not each.word]:
        own = next((link for link in links.links if implied in (link.source, link.target)), None)
        if own is None:
            continue
        noun = own.target if own.source is implied else own.source
        twin = next(
            (
                link
                for link in links.links
                if link is not own and link.edge == own.edge and noun in (link.source, link.target)
            ),
            None,
        )
        if twin is None:
            continue
        other = twin.target if twin.source is noun else twin.source
        links.mentions.remove(implied)
        ends = ((link, {implied: other}) for link in links.links)
        moved = [
            link._replace(source=same.get(link.source, link.source), target=same.get(link.target, link.target))
            for link, same in ends
        ]
        links.links[:] = list(dict.fromkeys(moved))


def _returned(doc: Any, links: Links) -> Mention:
    order = sorted(links.mentions, key=lambda each: each.at)
    nouns = [each for each in order if each.kind == "noun"]
    for mention in (
        *nouns,
        *(each for each in order if each.kind == "implied"),
        *(each for each in order if each.kind == "value"),
    ):
        head = doc[mention.at].head if doc[mention.at].dep_ == "compound" else None
        return next((each for each in nouns if head is not None and head.i in each.tokens), mention)
    raise InvalidArgumentError(
        f"the request names nothing of the domain {links.domain.name}",
        subject="request",
        remedy=f"Name one of: {', '.join(entity.words[0] for entity in links.domain.types.values() if entity.words)}",
    )


def _place_dates(doc: Any, links: Links) -> None:
    """Join each date to the nearest mention before it that has a date, else to the next after it."""
    for when in [each for each in links.mentions if each.kind == "date"]:
        kinds = {source for source, _, target in links.words.phrases if target == links.words.dates}
        dated = [each for each in links.mentions if set(each.types) & kinds and each.kind != "date"]
        before = sorted((each for each in dated if each.at < when.at), key=lambda each: -each.at)
        after = sorted((each for each in dated if each.at >= when.at), key=lambda each: each.at)
        for mention in (*before, *after):
            if links.join(mention, when):
                break


def _attach(mention: Mention, returned: Mention, links: Links, *, through: bool) -> None:
    """Join a part that no phrase joined to the rest, at the nearest pair of mentions that an edge allows.

    :param through: whether an entity that the request does not mention may stand between them.
    """
    part, rest = links.reached(mention), links.reached(returned)
    pairs = sorted(
        ((a, b) for a in part for b in rest), key=lambda pair: (abs(pair[0].at - pair[1].at), pair[0].at < pair[1].at)
    )
    if mention.kind == "user" and len(part) == 1 and mention.word == "my":
        return
    for between in dict.fromkeys((False, through)):
        for own, other in pairs:
            if (between or _direct(own, other, links)) and links.join(other, own):
                return


def _direct(first: Mention, second: Mention, links: Links) -> bool:
    pairs = {(source, target) for source, _, target in links.words.phrases}
    return any((a, b) in pairs or (b, a) in pairs for a in first.types for b in second.types)


def _place_ordinals(kept: list[Mention], links: Links, left_out: list[str]) -> None:
    """An ordinal of a type without order belongs to a neighbour that has one: the first file of the first mail."""
    for mention in [each for each in kept if each.ordinal]:
        around = [
            link.target if link.source is mention else link.source
            for link in links.links
            if mention in (link.source, link.target)
        ]
        for each in (mention, *around):
            fields = links.domain.types[each.types[0]].fields
            name = next((name for name, field in fields.items() if field.kind == "ordinal"), None)
            if name:
                each.filters.append((name, "=", mention.ordinal))
                break
        else:
            left_out.append(f'"{mention.ordinal}" is left out: the type {mention.types[0]} has no order in the domain.')
            mention.ordinal = ""


def _graph(text: str, returned: Mention, kept: list[Mention], links: Links) -> tuple[QueryGraph, dict[Mention, str]]:
    names: dict[Mention, str] = {}
    used: dict[str, int] = {}
    totals: dict[str, int] = {}
    for mention in kept:
        stem = links.domain.types[mention.types[0]].variable
        totals[stem] = totals.get(stem, 0) + 1
    for mention in kept:
        stem = links.domain.types[mention.types[0]].variable
        used[stem] = used.get(stem, 0) + 1
        names[mention] = stem if totals[stem] == 1 else f"{stem}{used[stem]}"
    edges = [
        {"kind": "edge", "from": names[link.source], "edge": link.edge, "to": names[link.target]}
        for link in links.links
        if link.source in names
    ]
    filters = [
        {"kind": "filter", "var": names[mention], "field": field, "op": op, "value": value}
        for mention in kept
        for field, op, value in mention.filters
    ]
    count = _counts(text)
    form = {
        "action": "count" if count else "find",
        "return_var": names[returned],
        "return_mode": "one" if not count and _is_one(returned, kept, links) else "all",
        "vars": {names[mention]: mention.types[0] for mention in kept},
        "constraints": [*edges, *filters],
    }
    try:
        return QueryGraph.model_validate(form), names
    except ValidationError as error:
        said = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise InvalidArgumentError(
            f"no graph could be made of the request: {said}", subject="request", remedy="Ask for less at a time"
        ) from error


def _counts(text: str) -> bool:
    """Whether a request begins with a count: "how many", "I would like to know how many"."""
    found = _COUNT.search(text)
    return found is not None and {*re.findall(r"['’]?\w+", text[: found.start()].casefold())} <= _LEADS


def _is_one(returned: Mention, kept: list[Mention], links: Links) -> bool:
    """A superlative or ordinal, or one certain thing: a single noun with a name."""
    if returned.ordinal:
        return True
    if links.domain.types[returned.types[0]].kind == "date":
        return any(each.ordinal for each in kept)
    return len(kept) == 1 and returned.singular and any(op == "=" for _, op, _ in returned.filters)
