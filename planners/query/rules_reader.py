"""The reader ``rules.v1``: spaCy's parse of a request, read with the vocabulary of a domain. It knows nothing of any domain itself.

What it does not know it refuses by the word: each content word of a request stands in the graph, or there is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import product
from threading import Lock
from typing import Any

from pydantic import ValidationError

from ontology.errors import InvalidArgumentError, MissingExtraError
from ontology.names import SPACY_MODELS, noun_lemma
from planners.query.domain import Domain
from planners.query.graph_faults import date_notes, graph_faults
from planners.query.linking import BETWEEN, Link, Links, read_conditions, read_statements
from planners.query.mentions import (
    ORDINALS,
    WORDS,
    FieldName,
    Lexicon,
    Mention,
    find_mentions,
    lexicon,
    masked,
    request_values,
)
from planners.query.query_graph import MAX_VARS, FindNames, ParsedRequest, QueryGraph, request_text

_LEFT_OUT = "Say it in other words, leave it out, or use --best-effort; `egotools plan` finds the tools for an order"
_LOCK = Lock()  # spaCy's string store is shared
_COUNT = re.compile(r"\b(?:how many|count|(?:the )?number of)\b", re.IGNORECASE)
_LEADS = WORDS["before"] | WORDS["asks"] | WORDS["counts"]
_CONTENT = ("NOUN", "PROPN", "VERB", "ADJ", "ADV", "NUM", "X", "SYM")
_LIGHT = WORDS["light"] | WORDS["asks"] | WORDS["before"] | WORDS["auxiliary"]
_COUNTS = frozenset(("how", "many", "number", "count", "times"))
_LEAST = frozenset("lowest smallest fewest least minimum cheapest shortest lightest earliest oldest youngest".split())
_ASKED = ("nsubj", "attr", "dobj", "ROOT", "nsubjpass")
_TOTALS = {"total": "sum", "average": "average", "mean": "average", "sum": "sum"}


class RulesParser:
    """Parses requests by rules; deterministic, without a network or a key."""

    name = "rules.v1"

    def __init__(self) -> None:
        self._lexicons: dict[int, tuple[Domain, Lexicon]] = {}

    def parse(
        self, request: str, domain: Domain, today: date, *, best_effort: bool = False, names: FindNames | None = None
    ) -> ParsedRequest:
        """Return the graph of a request; see :class:`planners.query.query_graph.Parser`. What is no name of the data may
        still be one, where it looks like it, but in a domain that is extended and has ``names``."""
        text = unicodedata.normalize("NFC", request_text(request))
        if id(domain) not in self._lexicons:
            self._lexicons[id(domain)] = (domain, lexicon(domain))  # with the domain, whose id is then of no other
        words = self._lexicons[id(domain)][1]
        guess = names is None or not domain.extended
        values = request_values(text, words, today, names, guess=guess)
        with _LOCK:
            doc = _english()(masked(text, values))
        links = Links(domain, words, find_mentions(doc, values, words, guess=guess))
        if len(links.mentions) > MAX_VARS:
            bound = f"and a query graph has at most {MAX_VARS} variables"
            raise _refused(f"the request mentions {len(links.mentions)} things, {bound}", "Ask for less at a time")
        read_conditions(doc, links)
        writer = _Writer(text, doc, links)
        writer.read_measure()
        links.read(read_statements(doc, links.mentions, words))
        graph = writer.graph(max((int(each.text) for each in values if each.kind == "steps"), default=1))
        if faults := graph_faults(graph, domain):
            raise _refused(f"no graph could be made of the request: {' '.join(faults)}", "Say it in other words")
        left_out = tuple(writer.left_out)
        if left_out and not best_effort:
            raise _refused(" ".join(left_out).replace(" and left out", "").rstrip("."), _LEFT_OUT)
        return ParsedRequest(graph, (*left_out, *writer.assumed, *date_notes(graph, domain, today)), left_out)


def _refused(problem: str, remedy: str) -> InvalidArgumentError:
    return InvalidArgumentError(problem, subject="request", remedy=remedy)


@lru_cache(maxsize=1)
def _english() -> Any:
    import spacy

    for model in SPACY_MODELS:
        if spacy.util.is_package(model):
            return spacy.load(model)
    raise MissingExtraError("the rules parser", extra="default")


@dataclass
class _Writer:
    """Linked mentions → the query graph: what is returned, how many, measures, ordinals, dates, and names for the variables."""

    text: str
    doc: Any
    links: Links
    left_out: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    measured: tuple[str, FieldName] | None = None
    shown: FieldName | None = None
    ascending: bool = False
    counted_field: bool = False

    def read_measure(self) -> None:
        """ "the highest unit price", "total cost", "the price of": fields that are asked for or order the answer."""
        links, taken = self.links, {at for each in self.links.mentions for at in each.tokens}
        if not links.domain.extended:
            return
        for token in self.doc:
            function = _TOTALS.get(token.lower_, "")
            superlative = token.tag_ in ("JJS", "RBS")
            found = self._field_at(token.i + 1, taken) if function or superlative else None
            if found:
                self.measured, self.ascending = (function or "value", found[0]), token.lower_ in _LEAST
                links.said.update(range(token.i, found[1]))
        if self.measured is None:
            fields = ((at, self._field_at(at, taken)) for at in range(len(self.doc)))
            at, found = next(((at, each) for at, each in fields if each), (0, None))
            if found and self.doc[found[1] - 1].dep_ in _ASKED:
                self.shown = found[0]
                links.said.update(range(at, found[1]))
                if self.doc[max(at - 2, 0) : at].text.casefold() in ("how many", "number of"):  # "how many pages"
                    self.counted_field = True
                    links.said.update((at - 2, at - 1))

    def _field_at(self, at: int, taken: set[int]) -> tuple[FieldName, int] | None:
        """The field whose name begins at a token, with the token behind it; of several types, that of a noun that is mentioned."""
        types = [kind for each in self.links.mentions if each.kind == "noun" for kind in each.types]
        for end in range(min(len(self.doc), at + 3), at, -1):
            if taken & set(range(at, end)) or set(range(at, end)) & self.links.said:
                continue
            *first, last = [each.lower_ for each in self.doc[at:end]]
            forms = (" ".join([*first, form]) for form in (noun_lemma(last), last))
            fields = next((known for form in forms if (known := self.links.words.field_words.get(form))), ())
            for where in sorted(fields, key=lambda each: types.index(each.kind) if each.kind in types else len(types)):
                return where, end
        return None

    def graph(self, hops: int = 1) -> QueryGraph:
        """Return the graph, in which ``hops`` steps may be taken along an edge whose ends are of one type. Raises
        InvalidArgumentError when nothing that the domain knows is mentioned, or what is said cannot stand in a graph.
        """
        links = self.links
        # What a noun implied is what the request mentions after all, where both are at the other end of one edge.
        for implied in [each for each in links.mentions if each.kind == "implied" and not each.word]:
            for own, noun in links.around(implied)[:1]:
                twins = [end for link, end in links.around(noun) if link is not own and link.edge == own.edge]
                if twins:
                    links.unite(implied, twins[0])
        returned = self._returned()
        self._bound_by_today()
        for through in (False, True):  # an entity between two is invented only where no edge joins any
            for mention in sorted(links.mentions, key=lambda each: each.at):
                if mention in links.mentions and mention not in links.reached(returned):
                    self._attach(mention, returned, through=through)
        kept = sorted(links.reached(returned), key=lambda each: each.at)
        for mention in sorted(links.mentions, key=lambda each: each.at):
            if mention not in kept:
                word = mention.word or links.domain.types[mention.types[0]].variable
                lost = f'"{word}" is left out: nothing in the domain joins it to the rest of the request.'
                self.left_out.append(lost)
        for value in [each for each in kept if each.kind == "value"]:  # its name, or the field whose form it has
            if not value.types:
                problem = f'nothing in this domain is called by a name, and the request says "{value.word}"'
                raise _refused(problem, "Name a field with it")
            usual = links.words.names.get(value.types[0], "")
            name = next((each.field for each in value.fields if each.kind == value.types[0]), usual)
            value.filters.append((name, "=", value.value))
        self._place_ordinals(kept)
        counted = _COUNT.search(self.text)  # at the beginning: "how many", "I would like to know how many"
        leads = {*re.findall(r"['’]?\w+", self.text[: counted.start()].casefold())} if counted else set()
        count = counted is not None and leads <= _LEADS and not self.counted_field
        if links.domain.extended:
            self._refuse_unclear(returned, kept)
        graph, names = self._written(returned, kept, count, hops)
        self._refuse_unused(graph)
        self.left_out += [f'"{words}" is not understood and left out.' for words in self._unread(kept, count=count)]
        for link in links.assumed:
            if link in links.links and link.source in names:
                self._refuse_two_ways(link)
                ends = f"{names[link.source]} and {names[link.target]}"
                how = f"It is assumed that {ends} are joined by {link.edge}; the request does not say how."
                self.assumed.append(how)
        return graph

    def _refuse_unclear(self, returned: Mention, kept: Sequence[Mention]) -> None:
        """Refuse what could only be guessed, where nobody sees the graph before the answer."""
        asked = self.doc[0].lower_ not in ("who", "whom", "where", "when", "why")
        if returned.kind == "value" and not (asked and (self.shown or self.measured)):
            raise _refused("it does not say what is asked for", "Name a type or a property")
        if self.doc[0].lemma_.casefold() in ("be", "do", "have"):
            raise _refused("it asks for yes or no", "Ask which ones there are")
        if sum(each.kind == "date" for each in kept) > 1:
            raise _refused("it names several times", "Ask for one of them at a time")
        for each in kept:
            if each.kind == "value" and len(each.types) > 1:
                raise _refused(f"“{each.word}” may be a {' or a '.join(each.types)}", "Say which is meant")
        for token in self.doc:
            if token.lower_ == "both" or (token.lower_ in ("all", "every") and token.i > returned.at):
                problem = f"“{token.text}” changes what is asked, and it is not clear how"
                raise _refused(problem, "Say it in other words")

    def _refuse_two_ways(self, link: Link) -> None:
        """No edge is assumed between two of one type; of a property graph neither where others join the types too."""
        ends = {link.source.types[0], link.target.types[0]}
        if self.left_out or (len(ends) > 1 and not self.links.domain.extended):
            return
        ways = [edge for source, edge, target in self.links.domain.signatures() if {source, target} == ends]
        if not self.links.domain.extended:
            words = ", ".join(f'"{each.word}"' for each in (link.source, link.target) if each.kind == "value")
            problem = f"it does not say how two {link.source.types[0]}s are joined {words}".rstrip()
            raise _refused(problem, "Say what it is a name of")
        if len(ways) > 1 or len(ends) == 1:
            raise _refused(f"{' and '.join(sorted(ends))} are joined by {' or '.join(ways)}", "Say which is meant")

    def _returned(self) -> Mention:
        order = sorted(self.links.mentions, key=lambda each: each.at)
        nouns = [each for each in order if each.kind == "noun"]
        for kind in ("noun", "implied", "value"):
            for mention in (each for each in order if each.kind == kind):
                head = self.doc[mention.at].head if self.doc[mention.at].dep_ == "compound" else None
                return next((each for each in nouns if head is not None and head.i in each.tokens), mention)
        asked = self.measured[1] if self.measured else self.shown
        if asked is not None:
            mention = Mention(0, (asked.kind,), "noun", "")
            self.links.mentions.append(mention)
            return mention
        domain = self.links.domain
        known = ", ".join(entity.words[0] for entity in domain.types.values() if entity.words)
        raise _refused(f"the request names nothing of the domain {domain.name}", f"Name one of: {known}")

    def _bound_by_today(self) -> None:
        """The next of its kind is from today on; what did happen since a day did so until today."""
        links = self.links
        for each in [each for each in links.mentions if "next" in each.marks]:
            when = Mention(each.at, (links.words.dates,), "date", "next", filters=[("value", ">", "today")])
            links.mentions.append(when)
            links.join(each, when)
        if any(each.lower_ in ("did", "have", "has") for each in self.doc):
            for each in links.mentions:
                if each.kind == "date" and each.filters[0][1] == ">" and each.word != "next":
                    each.filters.append(("value", "<", "tomorrow"))

    def _attach(self, mention: Mention, returned: Mention, *, through: bool) -> None:
        """Join a part that no phrase joined to the rest, at the nearest pair of mentions that an edge allows;
        ``through`` says whether an entity that the request does not mention may stand between them."""
        links = self.links
        part, rest = links.reached(mention), links.reached(returned)
        pairs = sorted(product(part, rest), key=lambda pair: (abs(pair[0].at - pair[1].at), pair[0].at < pair[1].at))
        for own, other in pairs:
            if {own.kind, other.kind} - {"noun", "implied"}:
                continue
            relative = any(each.kind == "implied" or self.doc[each.at].tag_ == "WP" for each in (own, other))
            if relative and set(own.types) & set(other.types):
                links.unite(*((own, other) if own.kind == "implied" or other is returned else (other, own)))
                return
        known = {pair for source, _, target in links.words.phrases for pair in ((source, target), (target, source))}
        for between in dict.fromkeys((False, through)):
            for own, other in pairs:
                direct = any((a, b) in known for a in own.types for b in other.types)
                if (between or direct) and links.join(other, own):
                    return

    def _place_ordinals(self, kept: Sequence[Mention]) -> None:
        """An ordinal of a type without order belongs to a neighbour that has one: the first file of the first mail."""
        links = self.links
        for mention in [each for each in kept if each.ordinal]:
            beside = () if " " in mention.ordinal else (end for _, end in links.around(mention))
            for each in (mention, *beside):
                fields = links.domain.types[each.types[0]].fields
                name = next((name for name, field in fields.items() if field.kind == "ordinal"), None)
                if name:
                    each.filters.append((name, "=", mention.ordinal))
                    break
            else:
                no_order = f'"{mention.ordinal}" is left out: the type {mention.types[0]} has no order in the domain.'
                self.left_out.append(no_order)
                mention.ordinal = ""

    def _written(
        self, returned: Mention, kept: Sequence[Mention], count: bool, hops: int
    ) -> tuple[QueryGraph, dict[Mention, str]]:
        types = self.links.domain.types
        stems = [types[each.types[0]].variable for each in kept]
        names = {
            each: stem if stems.count(stem) == 1 else f"{stem}{stems[: at + 1].count(stem)}"
            for at, (each, stem) in enumerate(zip(kept, stems, strict=True))
        }
        one = not count and self._is_one(returned, kept)
        far = {each: at for at, each in enumerate(self.links.reached(returned))}
        written: list[dict[str, Any]] = []
        for link in [each for each in self.links.links if each.source in names]:
            marks = link.marks | max(link.source, link.target, key=lambda each: far[each]).marks
            edge: dict[str, Any] = {
                "kind": "edge",
                "from": names[link.source],
                "edge": link.edge,
                "to": names[link.target],
            }
            loop = hops > 1 and link.source.types == link.target.types
            written.append(
                edge
                | ({"negated": True} if "no" in marks else {})
                | ({"only": True} if "only" in marks else {})
                | ({"max_hops": hops} if loop else {})
            )
        for each in kept:
            for field_name, op, value in each.filters:
                first, *others = value if isinstance(value, tuple) else (value,)
                condition: dict[str, Any] = {
                    "kind": "filter",
                    "var": names[each],
                    "field": field_name,
                    "op": op,
                    "value": first,
                }
                written.append(condition | ({"others": others} if others else {}))
        form: dict[str, Any] = {
            "action": "count" if count else "find",
            "return_var": names[returned],
            "return_mode": "one" if one else "all",
            "vars": {name: each.types[0] for each, name in names.items()},
            "constraints": written,
            **self._measure(returned, names, count),
        }
        try:
            return QueryGraph.model_validate(form), names
        except ValidationError as error:
            said = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
            raise _refused(f"no graph could be made of the request: {said}", "Ask for less at a time") from error

    def _measure(self, returned: Mention, names: dict[Mention, str], count: bool) -> dict[str, Any]:
        """What goes beyond finding and counting; a number of what is asked for is a limit."""
        links, by = self.links, next((each for each in names if "each" in each.marks), None)
        ranked = next((each for each in names if each.marks & {"most", "fewest"}), None)
        limit = returned.number if returned.number and not returned.compared else 0
        ordered = ranked or (self.measured and self.measured[0] == "value") or returned.ordinal
        if limit and not ordered:
            links.said.discard(returned.tokens[0] - 1)
        if by is not None and count and by is not returned:
            return {"action": "group", "by": names[by]}
        counted = next((each for each in names if each.number and each is not returned), None)
        if ranked is not None and ranked is not returned:
            measure = {"function": "count", "var": names[ranked]}
            return {"action": "top", "measure": measure, "limit": limit or 1, "ascending": "fewest" in ranked.marks}
        if counted is not None:
            bound = {"op": counted.compared or "=", "value": counted.number}
            return {"measure": {"function": "count", "var": names[counted]} | bound}
        owner = self.measured and next((each for each in names if self.measured[1].kind == each.types[0]), None)
        asked = self.measured[1] if self.measured else self.shown
        if asked and (owner if self.measured else asked.kind == returned.types[0]) not in (returned, True):
            raise _refused(f"{asked.field} is of {asked.kind}, and not of what is asked for", "Ask for it alone")
        if self.measured:
            function, where = self.measured
            measure = {"function": function, "var": names[returned], "field": where.field}
            if function != "value":
                return {"action": "measure", "measure": measure}
            return {"action": "top", "measure": measure, "limit": limit or 1, "ascending": self.ascending}
        return {"show": self.shown.field} if self.shown else {}

    def _is_one(self, returned: Mention, kept: Sequence[Mention]) -> bool:
        """A superlative or ordinal, or one certain thing: a single noun with a name."""
        if returned.ordinal:
            return " " not in returned.ordinal
        if self.links.domain.types[returned.types[0]].kind == "date":
            return any(each.ordinal for each in kept)
        return len(kept) == 1 and returned.singular and any(op == "=" for _, op, _ in returned.filters)

    def _refuse_unused(self, graph: QueryGraph) -> None:
        """Refuse "not" and "or" that are not in the graph: an answer without them would be one to another question."""
        values = {at for each in self._mentioned() if each.kind == "value" for at in each.tokens}
        negated = any(each.negated for each in graph.edges)
        for token in self.doc:
            if token.i in values | self.links.said:
                continue
            exclusion = token.lower_ in WORDS["excludes"] or (token.lower_ == "no" and token.dep_ in ("det", "neg"))
            if exclusion and not negated:
                problem = f'a query graph cannot exclude anything here, and the request says "{token.text}"'
                raise _refused(problem, "Ask for what is so, and leave the rest out of the answer")
            if token.lower_ == "or":
                raise _refused('what "or" joins are not two names of one kind', "Ask for one of them at a time")

    def _mentioned(self) -> tuple[Mention, ...]:
        return (*self.links.mentions, *(value for value, _ in self.links.given))

    def _unread(self, kept: Sequence[Mention], *, count: bool) -> list[str]:
        """The content words of a request that reached no part of its graph; those side by side are one text."""
        known = set(self.links.said)
        for each in self._mentioned():
            known.update(each.tokens, (each.at,) if each.kind == "implied" else (), each.beside if each.ordinal else ())
        said = _said(self.links, kept) | _LIGHT | (_COUNTS if count else set())
        groups: list[list[Any]] = []
        for token in self.doc:
            asked = (token.tag_ == "WRB" and token.lower_ in ("how", "why")) or token.lower_ in ("whoever", "whomever")
            content = token.pos_ in _CONTENT and any(map(str.isalnum, token.text)) and token.tag_ != "WRB"
            forms = {token.lower_, token.lemma_.casefold(), noun_lemma(token.lower_)}
            leads = any(child.dep_ == "prep" and child.lower_ == "of" for child in token.children)
            fields = leads and forms & self.links.words.field_words.keys()
            if token.i in known or not (asked or content) or forms & said or fields:
                continue
            last = groups[-1][-1] if groups else None
            if last is not None and all(each.lower_ == "than" for each in self.doc[last.i + 1 : token.i]):
                groups[-1].append(token)
            else:
                groups.append([token])
        return list(dict.fromkeys(self.doc[group[0].i : group[-1].i + 1].text for group in groups))


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
        said |= {*BETWEEN} if filters else set()
    ordinals = {each.ordinal for each in kept if each.ordinal}
    for (source, _, target), told in words.phrases.items():  # "which contract expires first"
        if ordinals and source in types and target == words.dates:
            said |= {each.middle[0] for each in told if each.middle}
    said |= {word for word, ordinal in ORDINALS.items() if ordinal in ordinals}
    return said | ({"most"} if ordinals else set())
