"""Drafting a semantic catalog: by rules from a census of the graph, the names of its schema, an ontology and a glossary; the descriptions
also by a chat model, with one question for each type, whose answer can only use the names of the schema.

The word lists were written from the properties and relationships that the paper names, the predicates of the shipped ontology and common
English column names; no graph was at hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from inference.chat import ChatModel, Message
from inference.structured_chat import (
    FailureBudget,
    SchemaParser,
    StructuredAnswer,
    StructuredChat,
    StructuredRequest,
)
from ontology.names import canonical_name, expand, is_verb, noun_lemma, verb_lemma, words
from ontology.ontology import Ontology, Predicate
from planners.calls.untrusted import FenceMarks
from planners.graphseek.catalog import (
    MOST_CHARACTERS,
    TIME_ROLES,
    NodeDescriptor,
    PropertyDescriptor,
    RelationshipDescriptor,
    Role,
    SemanticCatalog,
    cleaned_text,
    shortened_text,
    text_fault,
)
from planners.graphseek.catalog_text import full_node, full_relationship, prompt_parts
from planners.stores.graph_schema import GraphSchema, NodeType, PropertyKey, RelationshipEnds, RelationshipType

_PLANNED, _ACTUAL = ("plan", "planned", "scheduled"), ("actual", "actually", "current", "currently")
_PLAN_OR_ACTUAL = {**dict.fromkeys(("plan", "planned", "forecast", "target", "budget"), _PLANNED), "actual": _ACTUAL}
_KEY_WORDS = frozenset("id key code uid uuid guid identifier number iri uri".split())
_MONTHS = frozenset("jan feb mar apr may jun jul aug sep oct nov dec".split())
_AMOUNTS = frozenset(
    "amount cost costs expense quantity qty output volume total sum revenue spend scrap hours weight mass".split()
)
_NOT_SUMS = frozenset("unit per average mean rate price percent share density index number year".split())
_RANKS = frozenset("tier level class grade rank stage phase priority status type category group".split())
_UNITS = {
    **{unit: unit.upper() for unit in ("eur", "usd", "gbp", "chf", "jpy")},
    **{unit: unit for unit in ("kg", "km", "mm", "cm")},
    **{"kwh": "kWh", "kw": "kW", "percent": "%", "hours": "h", "minutes": "min", "km2": "km²", "sqkm": "km²"},
}
_SAID_UNITS = frozenset(("hours", "minutes", "percent"))  # people say them: the hours of a shift
_MOST_CATEGORIES = 25
_YEARS = (1000, 2999)
# Participles that are the name of a year, where all values are integers that look like one: a moon was discovered in 1655. Alone neither
# the name (discovered: 3 crates) nor the values (a radius of 1737) say so.
_YEAR_WORDS = frozenset(
    "born built closed completed created died discovered established founded introduced launched opened published released retired".split()
)
_LIKELY_YEARS = (1000, 2100)
_OF_PLACE = frozenset("in into at within inside under".split())
_OF_AGENT = _OF_PLACE | {"by"}  # "built at a site": the site builds
_PREPOSITIONS = _OF_AGENT | frozenset("to from with for on of as a an".split())
_BEING_IN = frozenset("locate situate place contain include integrate embed store incorporate base".split())
_MUTUAL = frozenset("connect relate link associate border join pair".split())
_AUXILIARIES = frozenset("is are was were be been".split())
_IRREGULAR = "output input put set cut read cost hit".split()
_PARTICIPLES = {
    **dict(zip(_IRREGULAR, _IRREGULAR, strict=True)),
    **{
        "build": "built",
        "buy": "bought",
        "make": "made",
        "sell": "sold",
        "send": "sent",
        "hold": "held",
        "have": "had",
    },
    **{
        "write": "written",
        "give": "given",
        "take": "taken",
        "know": "known",
        "pay": "paid",
        "feed": "fed",
        "lead": "led",
    },
    **{
        "keep": "kept",
        "find": "found",
        "run": "run",
        "teach": "taught",
        "drive": "driven",
        "see": "seen",
        "ship": "shipped",
    },
}
_MOST_VALUES = 8  # that a description lists; more of a category are counted, and three shown
_MOST_SAMPLE_CHARACTERS = 40
_MOST_ENDS = 4
_LARGE = 10_000  # numbers from here on are shown without decimals
_NOTHING: Final[Mapping[str, str]] = {}
_MOST_ANSWER_TOKENS = 1_500
_MOST_SHOWN = 40  # properties of a type in a prompt


def draft_by_rules(
    census: GraphSchema, ontology: Ontology | None = None, glossary: Mapping[str, str] = _NOTHING
) -> SemanticCatalog:
    """Return a draft: a descriptor of each type and property. It is not accepted.

    :param census: with counts, ranges and samples; where they are missing, fewer roles and ranges are found.
    :param ontology: its descriptions, synonyms and abbreviations are used where its names are those of the schema.
    :param glossary: canonical name of a term → meaning; the term may be a type, a relationship or a property.
    """
    abbreviations = ontology.abbreviations if ontology else {}

    def said(name: str) -> str:
        """A name as people say it: its words, abbreviations written out, in the singular."""
        return canonical_name(" ".join(expand(words(name), abbreviations)))

    def meaning(name: str) -> str:
        return cleaned_text(glossary.get(canonical_name(name), "")).rstrip(".")

    def properties(owner: NodeType | RelationshipType) -> dict[str, PropertyDescriptor]:
        roles, found = roles_of(owner), {}
        for each in owner.properties:
            role, told = roles.get(each.name, ""), said(" ".join(told_name(each)))
            seen = _seen(each, owner.count, is_listed=role not in TIME_ROLES)
            found[each.name] = PropertyDescriptor(
                description=_text(": ".join(filter(None, (meaning(each.name), seen)))),
                words=(told,) if told not in ("", each.name) else (),
                values=_values_said(each) if role in ("category", "plan or actual") else {},
                role=role,
                unit=unit_of(each.name),
            )
        return found

    heads: Counter[str] = Counter()  # the last word of a single type stands for the type
    for node in census.nodes:
        heads.update({*said(node.name).split()[-1:], said(node.name)})
    nodes = {}
    for node in census.nodes:
        name, known = said(node.name), ontology.entity_types.get(node.name) if ontology else None
        means = meaning(node.name) or (known.description if known else "") or name.capitalize()
        candidates = [word for word in (name, name.rpartition(" ")[2]) if word and heads[word] == 1]
        nodes[node.name] = NodeDescriptor(
            description=_text(f"{means} ({node.count:,} nodes)"),
            words=tuple(dict.fromkeys(candidates)),
            properties=properties(node),
        )
    relationships = {}
    for each in census.relationships:
        forward, backward = relation_phrases(each.name)
        predicate = _predicate(each, ontology)
        synonyms = (
            [word for word in predicate.synonyms if {*words(word)} - _PREPOSITIONS - _AUXILIARIES][:4]
            if predicate
            else []
        )
        more = f" and {len(each.ends) - _MOST_ENDS} more pairs" if len(each.ends) > _MOST_ENDS else ""
        ends = ", ".join(map(_ends, each.ends[:_MOST_ENDS])) + more
        means = meaning(each.name) or (predicate.description if predicate else "")
        relationships[each.name] = RelationshipDescriptor(
            description=_text(": ".join(filter(None, (means, ends)))),
            forward=tuple(dict.fromkeys((*forward, *synonyms))),
            backward=backward,
            properties=properties(each),
        )
    counted = [(sum(each.count for each in of), len(of)) for of in (census.nodes, census.relationships)]
    about = "A graph of {:,} nodes of {} types and {:,} relationships of {} types.".format(*counted[0], *counted[1])
    return SemanticCatalog(about=about, fingerprint=census.fingerprint, nodes=nodes, relationships=relationships)


def _predicate(each: RelationshipType, ontology: Ontology | None) -> Predicate | None:
    """The predicate of this name, where all ends are entity types too: another graph's ``contains`` may mean something else."""
    known = ontology.entity_types if ontology else {}
    if ontology is None or not all(end.source in known and end.target in known for end in each.ends):
        return None
    return ontology.predicates.get("_".join(words(each.name)))


def _seen(each: PropertyKey, owners: int, *, is_listed: bool) -> str:
    """What a census saw of a property: all values of a category, the range of numbers and dates, samples of texts.

    :param is_listed: whether few values are listed.
    """
    samples, seen = list(_shown(each.samples)), ""
    if is_listed and is_category(each) and len(samples) == len(each.samples) and each.type != "boolean":
        few = len(samples) <= _MOST_VALUES
        seen = f"one of {', '.join(samples)}" if few else f"{len(samples)} values such as {', '.join(samples[:3])}"
    elif each.distinct == 1 and samples:
        seen = f"always {samples[0]}"
    elif each.type in ("integer", "number", "date") and each.least is not None and each.greatest is not None:
        seen = f"{_value(each.least)} to {_value(each.greatest)}"
    elif each.type in ("string", "list") and samples:
        seen = f"such as {', '.join(samples[:2])}"
    missing = f"at {each.count:,} of {owners:,}" if each.count < owners else ""
    return ", ".join(filter(None, (seen, missing)))


def _shown(samples: Iterable[object]) -> Iterator[str]:
    """Samples that may stand in a prompt, for they are data of whoever filled the graph; JSON in a text says nothing there."""
    for text in map(_value, samples):
        is_short = 0 < len(text) <= _MOST_SAMPLE_CHARACTERS and text[0] not in "[{"
        if is_short and text == cleaned_text(text) and not text_fault(text):
            yield text


def _value(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if abs(value) < _LARGE else f"{value:.0f}"


def _values_said(each: PropertyKey) -> dict[str, str]:
    """What people say → value: its words, and those for planned and actual things."""
    said: dict[str, str] = {}
    for value in _shown(each.samples if each.type == "string" else ()):
        for phrase in filter(None, (*_said_of_plan(value), " ".join(words(value)))):
            said.setdefault(phrase, value)
    return said


def _ends(ends: RelationshipEnds) -> str:
    ways = [(of, way) for of, way in ((ends.outgoing, "out"), (ends.incoming, "in")) if of and of.greatest > 1]
    degrees = "".join(f"; {way} {of.median}, at most {of.greatest:,}" for of, way in ways)
    return f"{ends.source} to {ends.target} ({ends.count:,}{degrees})"


def _text(text: str) -> str:
    return shortened_text(cleaned_text(text))


def roles_of(owner: NodeType | RelationshipType) -> dict[str, Role]:
    """Return the roles of properties by name, read from their names, types and values; one key and one name at most."""
    roles: dict[str, Role] = {}
    if isinstance(owner, NodeType):
        unique = [each for each in owner.properties if each.type in ("string", "integer") and each.count > 0]
        keys = [e.name for e in unique if e.distinct == e.count and _KEY_WORDS & set(words(e.name)[-1:])]
        key = owner.key or (keys[0] if keys else "")
        texts = [each.name for each in owner.properties if each.type == "string" and each.name != key]
        ranked = sorted(texts, key=lambda name: (len(words(name)), len(name), name))
        named = (name for wanted in ("name", "title", "label") for name in ranked if words(name)[-1:] == [wanted])
        roles = {each: role for each, role in ((key, "key"), (next(named, ""), "name")) if each}  # type: ignore[misc]
    for each in owner.properties:
        if each.name not in roles and (role := _role_of(each)):
            roles[each.name] = role
    return roles


def _role_of(each: PropertyKey) -> Role:
    """A quarter or a month may be a number, or a text such as Q1 or Jan."""
    parts, values = words(each.name), [str(sample).lower() for sample in each.samples]
    word, (lowest, highest) = parts[-1] if parts else "", map(_whole, (each.least, each.greatest))
    likely = each.type == "integer" and _LIKELY_YEARS[0] <= lowest <= highest <= _LIKELY_YEARS[1]
    if each.type == "date":
        return "date"
    if (word == "year" and _YEARS[0] <= lowest and highest <= _YEARS[1]) or (word in _YEAR_WORDS and likely):
        return "year"
    if word == "quarter" and (1 <= lowest <= highest <= 4 or (values and all(v[:1] == "q" for v in values))):
        return "quarter"
    if word == "month" and (1 <= lowest <= highest <= 12 or (values and all(v[:3] in _MONTHS for v in values))):
        return "month"
    if each.type == "string" and values and all(map(_said_of_plan, values)):
        return "plan or actual"
    if each.type in ("number", "integer") and _AMOUNTS & set(parts) and not _NOT_SUMS & set(parts):
        return "amount"
    return "category" if is_category(each) else ""


def _whole(value: object) -> int:
    """A bound as a whole number; 0, which is no year, quarter or month, for anything else."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() else 0


def is_category(each: PropertyKey) -> bool:
    """Whether a property has a few values, all of which the census saw, and each of them about twice or more; a number, only by its name."""
    few = 1 < len(each.samples) <= _MOST_CATEGORIES and each.distinct == len(each.samples)
    ranked = each.type == "integer" and bool(_RANKS & set(words(each.name)))
    return few and each.count >= 2 * len(each.samples) and (each.type in ("string", "boolean") or ranked)


def _said_of_plan(value: str) -> tuple[str, ...]:
    """What people say of a value such as ``Plan`` or ``Actuals``; empty for any other value."""
    return _PLAN_OR_ACTUAL.get(noun_lemma(value.lower()), ())


def told_name(each: PropertyKey) -> list[str]:
    """Return the words of a name as people say it: ``radius_km`` without its unit, ``has_rings`` without the verb that makes it a truth."""
    parts = words(each.name)
    if len(parts) > 1 and parts[-1] in _UNITS and parts[-1] not in _SAID_UNITS:
        parts = parts[:-1]
    return parts[1:] if len(parts) > 1 and each.type == "boolean" and parts[0] in ("has", "is") else parts


def unit_of(name: str) -> str:
    """Return the unit that a name ends with: ``price_eur`` → ``EUR``; empty where there is none."""
    return _UNITS.get(words(name)[-1], "") if words(name) else ""


def relation_phrases(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return how people say a relationship, from source to target and back: ``BUILT_AT``: "built at", "builds"."""
    parts = words(name)
    if len(parts) > 2 or parts[-1:] != ["a"]:  # "is a" is no auxiliary
        parts = [part for part in parts if part not in _AUXILIARIES] or parts
    if not parts:
        return (), ()
    said, rest, verb = " ".join(parts), " ".join(parts[1:]), verb_lemma(parts[0])
    if parts[0] == "has":
        return (said,), (f"{rest} of",) if rest else ("belongs to",)
    if parts[-1] in _PREPOSITIONS:
        return (said,), _backward(parts[-2] if len(parts) > 1 else "", parts[-1])
    if is_verb(verb) and (parts[0] == _third_person(verb) or len(parts) == 1):
        return (f"{_third_person(verb)} {rest}".strip(),), (" ".join(filter(None, (_participle(verb), rest, "by"))),)
    return (f"has {said}",), (f"{said} of",)


def _backward(last: str, preposition: str) -> tuple[str, ...]:
    """The phrases from the target of a name that ends with a preposition; none where a rule could only guess."""
    verb = verb_lemma(last) if last else ""
    if verb in _MUTUAL or (last and preposition == "with"):
        return (f"{last} {preposition}",)
    if verb in _BEING_IN or (not last and preposition in _OF_PLACE):
        return ("contains",)
    if last == _third_person(verb) and is_verb(verb):
        return (f"{_participle(verb)} on by",) if preposition == "on" else ()  # depended on by
    if last != verb and is_verb(verb):  # "install" of installed, although a word list has "instal" too
        stem = last[:-2] if last.endswith("ed") and is_verb(last[:-2]) else verb
        return (_third_person(stem),) if preposition in _OF_AGENT else ()
    said = f"has {last}" if last else "has"
    if preposition != "of":
        return ()
    return (said, "contains", "consists of") if last == "part" else (said,)


def _third_person(verb: str) -> str:
    if verb == "have":
        return "has"
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if _ends_in_y(verb) else f"{verb}s"


def _participle(verb: str) -> str:
    regular = f"{verb}d" if verb.endswith("e") else f"{verb[:-1]}ied" if _ends_in_y(verb) else f"{verb}ed"
    return _PARTICIPLES.get(verb, regular)


def _ends_in_y(verb: str) -> bool:
    return verb.endswith("y") and verb[-2:-1] not in "aeiou"


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmDraft:
    """A draft, and a sentence for each type whose descriptor is that of the rules."""

    catalog: SemanticCatalog
    problems: tuple[str, ...] = ()


def draft_by_llm(
    census: GraphSchema, model: ChatModel, *, ontology: Ontology | None = None, glossary: Mapping[str, str] = _NOTHING
) -> LlmDraft:
    """Return a draft: roles, values and ranges by rules, descriptions and words by the model. It is not accepted.

    A name that the schema lacks, a text of more than 200 characters and one that reads like an instruction are refused. The model
    then gets the fault and one more attempt; after that the rules' descriptor stays.

    :param glossary: canonical name of a term → meaning; the model is shown those of the type and its properties.
    :raises ModelError: when three calls in a row fail, or the budget is used up.
    """
    base, fences, prompt = draft_by_rules(census, ontology), FenceMarks(), prompt_parts("catalog_draft")
    failures, problems = FailureBudget(), list[str]()

    def repair(fault: str) -> str:
        return str(prompt["repair"].format(fault=fences.fenced(cleaned_text(fault))))

    chat = StructuredChat(model, kind="catalog", repair_prompt=repair, cache=None)

    def answer(of: NodeType | RelationshipType, kind: str, shown: str, lists: Sequence[str]) -> Mapping[str, Any]:
        """Return the answer about a type; an empty one where there is no usable one."""
        names, texts = [each.name for each in of.properties[:_MOST_SHOWN]], prompt[kind]
        terms = (canonical_name(name) for name in (of.name, *names))
        meanings = [f"Glossary: {term}: {glossary[term]}" for term in terms if term in glossary]
        user = prompt["user"].format(kind=texts["kind"], data=fences.fenced("\n".join((shown, *meanings))))
        system = Message(role="system", content=prompt["system"].format(**texts))
        schema, messages = _schema(names, lists), (system, Message(role="user", content=user))
        request = StructuredRequest(
            messages=messages, schema=schema, schema_name="descriptor", max_tokens=_MOST_ANSWER_TOKENS
        )
        parser = SchemaParser(schema, feature="language models that describe a graph")
        said: StructuredAnswer[Mapping[str, Any]] = chat.call(request, "", lambda text: _cleaned(parser.parse(text)))
        failures.record(said.failure)
        if said.problem:
            problems.append(f"{of.name}: {said.problem}")
        return said.value or {}

    nodes, relationships = dict(base.nodes), dict(base.relationships)
    for node in census.nodes:
        known = nodes[node.name]
        found = answer(node, "node", full_node(node, known), ("words",))
        taken = {word for name, other in nodes.items() if name != node.name for word in other.words}
        meaning = found.get("description", "").rstrip(".")
        nodes[node.name] = replace(
            known,
            description=shortened_text(f"{meaning} ({node.count:,} nodes)") if meaning else known.description,
            words=_with(known.words, [word for word in found.get("words", ()) if word not in taken]),
            properties=_of_properties(known, found),
        )
    for each in census.relationships:
        said = relationships[each.name]
        found = answer(each, "relationship", full_relationship(each, said), ("forward", "backward"))
        relationships[each.name] = replace(
            said,
            description=_joined(found.get("description", ""), said.description),
            forward=_with(said.forward, found.get("forward", ())),
            backward=_with(said.backward, found.get("backward", ())),
            properties=_of_properties(said, found),
        )
    return LlmDraft(catalog=replace(base, nodes=nodes, relationships=relationships), problems=tuple(problems))


def _schema(names: Sequence[str], lists: Sequence[str]) -> dict[str, Any]:
    """The schema of an answer: properties of these names alone, short texts."""
    text = {"type": "string", "maxLength": MOST_CHARACTERS}
    row = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 40}, "maxItems": 4}
    properties = {"type": "object", "properties": dict.fromkeys(names, text), "additionalProperties": False}
    members = {"description": text, **dict.fromkeys(lists, row), "properties": properties}
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cleaned(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(dict.fromkeys(filter(None, (cleaned_text(each).lower() for each in value))))
    return cleaned_text(value)


def _with(words: Sequence[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*words, *more)))


def _of_properties(
    known: NodeDescriptor | RelationshipDescriptor, found: Mapping[str, Any]
) -> dict[str, PropertyDescriptor]:
    said = found.get("properties", {})
    return {
        name: replace(each, description=_joined(said.get(name, ""), each.description))
        for name, each in known.properties.items()
    }


def _joined(meaning: str, seen: str) -> str:
    return shortened_text(": ".join(filter(None, (meaning.rstrip("."), seen))))
