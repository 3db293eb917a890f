"""The profile of a tool: what it does, and the values that it consumes and produces: its documented outputs, and values inferred from
its name where outputs are missing.

A profile depends on the tool's own document and on what all documents together say: which entities there are, which inputs name the
surroundings of a call.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ingest.linking.identifiers import (
    CONTAINER_NAMES,
    GENERIC_NAMES,
    RESOURCE_NAME,
    head_noun,
    innermost,
    kinds_of,
    split_identifier,
    type_family,
)
from ingest.linking.subjects import action_of, local_name, normal_path, systems_of, vendors_of
from ingest.linking.values import (
    ANY_PERSON,
    AUTH_KEY,
    AUTH_NAMES,
    ID_FIELDS,
    KIND_WORDS,
    NAMING_FIELDS,
    NO_LINKS,
    PEOPLE,
    PERSON_KINDS,
    PLAIN_VALUE,
    QUALIFIERS,
    READS,
    TYPED_RESOURCE,
    ConsumedValue,
    DeclaredLinks,
    Draft,
    Key,
    KnownEntities,
    ProducedValue,
    consumed_values,
    context_parameters,
    free_text_score,
    is_resource,
    naming_field,
)
from ingest.word_lists import word_list, word_rows
from ontology.names import noun_lemma, words
from ontology.ontology import Ontology
from ontology.tool import Parameter, Tool

# Strengths are chosen, not tuned; what they are worth as confidences is calibrated (benchmarks/training/edges.py).
_A_KIND_OF, _REFERS_TO = 0.92, 0.75
_KEY_ORDER = "uid uuid sid key slug sku handle number code login username name title".split()
_PRIMARY = {"name": 0.5, "title": 0.35}
_PRIMARY_CONFIDENCE = 0.65
_PATH_NAMES = frozenset(("name", "resource name"))
_OPERATION = [frozenset(fields.split()) for fields in word_rows("linking", "operation_fields")]
_MANY = frozenset(("value", "result", "*"))
_LOGIN = word_list("linking", "login_words")
_TYPE_NOISE = word_list("linking", "type_noise")
_TYPE_WORDS = re.compile(r"[A-Z][A-Za-z0-9]+|[a-z_]+")
_INFERRED = {"search": 0.6, "list": 0.55, "get": 0.45, "create": 0.4}
_CREATED = 0.55  # of an HTTP request: its answer nearly always has the id of what is new


class ConsumedKeys:
    """The keys that some tool consumes; produced values with other keys give no edges and are left out."""

    def __init__(self, values: Iterable[ConsumedValue]) -> None:
        consumed = sorted({(value.key, value.identifier) for value in values})
        self._keys = {key for key, _ in consumed}
        self._heads: set[Key] = set()
        # Map from entity to the identifier fields of it that tools consume
        self.fields: dict[str, list[str]] = defaultdict(list)
        for (entity, field), identifier in consumed:
            if identifier:
                self.fields[entity].append(field)
                self._heads.add((head_noun(entity), field))

    def __contains__(self, key: Key) -> bool:
        known = key in self._keys or key in self._heads or key[0] in self.fields
        return known or (head_noun(key[0]), key[1]) in self._keys


class Outputs:
    """The outputs of one tool, and what the catalogue tells of them."""

    def __init__(self, draft: Draft, known: KnownEntities, consumed: ConsumedKeys) -> None:
        self.draft, self.known, self.consumed = draft, known, consumed
        self.entity, self.action = draft.entity, draft.action
        # What the request contains: such a value is an echo, unless it is in a list
        self.own = {one.key for one in draft.consumes if one.identifier and (one.required or one.location == "path")}
        names = {name.lower() for name in draft.output_names}
        # Whether it returns, not its entity, but an operation still running; found on Compute Engine and IAM (Google)
        self.is_operation = any(fields <= names for fields in _OPERATION)

    def values(self) -> tuple[ProducedValue, ...]:
        """Return the produced values that some tool consumes, for each output and key the one with the highest
        confidence. The outermost come first: the id of an object before the same id in a nested object."""
        documented = [value for value in self._documented() if value.key in self.consumed]
        has_own = any(value.key[0] == self.entity for value in documented)
        best: dict[tuple[Key, str], ProducedValue] = {}
        for value in (*documented, *self._primary(), *self._inferred(entity_missing=not has_own)):
            previous = best.get((value.key, value.output))
            if value.key in self.consumed and (previous is None or previous.confidence < value.confidence):
                best[value.key, value.output] = value
        placed = (replace(value, is_outer=self._is_outer(value.output.rpartition(".")[0])) for value in best.values())
        return tuple(sorted(placed, key=lambda value: value.output.count(".")))

    def _value(
        self, output: Parameter, key: Key, confidence: float, entity: str = "", *, is_object: bool = False
    ) -> ProducedValue:
        """:param entity: whose relevance it has; empty for a value of no entity."""
        return ProducedValue(
            output=output.name,
            type=output.type,
            key=key,
            confidence=confidence,
            relevance=self._relevance(entity) if entity else 1.0,
            kinds=kinds_of(output),
            is_object=is_object,
        )

    def _relevance(self, entity: str) -> float:
        if self.draft.reader.subject.entity == entity or (self.action == "search" and not self.entity):
            return 1.0
        return _A_KIND_OF if self.entity == entity else _REFERS_TO

    def _object(self, prefix: str) -> str:
        """Return the entity of the object at a prefix of an output: by its innermost name that is no container, else the tool's."""
        return innermost(prefix, self.draft.names) or ("" if self.is_operation else self.entity)

    def _is_outer(self, prefix: str) -> bool:
        """Whether an object stands in no other but containers, and is no part of one with an id of its own. The user in
        ``value[].createdBy.user`` is inner, the tracks of a playlist are not: a list in the one object that a tool
        returns is listed by it. Found on the development half of the true dependencies of examples/real."""
        names = [self.draft.names.canonical(segment) for segment in prefix.replace("[]", "").split(".") if segment]
        if sum(name not in CONTAINER_NAMES and name not in _MANY for name in names) > 1:
            return False
        parent, _, last = prefix.rpartition(".")
        canonical = self.draft.names.canonical
        while parent and "[]" not in parent and canonical(parent.rpartition(".")[2]) in CONTAINER_NAMES:
            parent = parent.rpartition(".")[0]
        if not last or (last.endswith("[]") and "[]" not in parent) or canonical(last) in CONTAINER_NAMES:
            return True
        return all(f"{parent}.{field}".lstrip(".") not in self.draft.output_names for field in ID_FIELDS)

    def _documented(self) -> Iterator[ProducedValue]:
        names = self.draft.output_names
        lists = self.action in ("list", "search") and any("[]" in name or name[-1:] == "]" for name in names)
        owners: dict[str, tuple[str, float]] = {}
        for output, found in self.draft.outputs:
            prefix, _, last = output.name.rpartition(".")
            if is_resource(output):
                yield self._value(output, (TYPED_RESOURCE, output.type.lower()), 0.8)
            if type_family(output.type) in ("string", "integer", "array", ""):
                yield from self._named(output, self._object(prefix))
            if found is None or found.evidence == ("description",):
                yield from self._plain(output)
            if found is None or (not prefix and self.is_operation and "name" not in found.evidence):
                continue
            if not prefix and lists and found.evidence == ("tool",):
                continue  # the id of a list is not that of an item
            bare = last in ID_FIELDS and "name" not in found.evidence
            owner = self.entity if bare and "tool" in found.evidence else found.entity, found.confidence
            # The first key of an object tells whose it is: the ``uuid`` of what has an ``id`` too.
            entity, confidence = owners.setdefault(prefix, owner) if bare else owner
            if entity and ("[]" in prefix or (entity, found.field) not in self.own):
                is_object = bare and self._is_outer(prefix)
                yield self._value(output, (entity, found.field), confidence, entity, is_object=is_object)

    def _named(self, output: Parameter, entity: str) -> Iterator[ProducedValue]:
        """Yield the name, the path and a person's address that an output gives beside an identifier of the entity."""
        name = self.draft.names.canonical(output.name.rpartition(".")[2])
        if entity and name in _PATH_NAMES:
            yield self._value(output, (entity, RESOURCE_NAME), 0.8, entity)
            if entity.endswith(f" {self.entity}") and output.name.count(".") <= 1:
                # workforcePoolProviderKeys[].name of keys.list
                yield self._value(output, (self.entity, RESOURCE_NAME), 0.8, self.entity)
        tokens = name.split()
        if tokens and tokens[-1] in NAMING_FIELDS:
            owner = " ".join(tokens[:-1]) or entity
            yield self._value(output, (owner, naming_field(tokens[-1])), 0.8 if len(tokens) > 1 else 0.65, owner)
        kind = next((kind for kind in PERSON_KINDS if kind in kinds_of(output)), "")
        if not kind or self.action not in READS:
            return
        while tokens and tokens[-1] in KIND_WORDS:
            tokens = tokens[:-1]
        owner = " ".join(tokens) or entity
        if head_noun(owner) in PEOPLE:  # one below the object's own fields is that of somebody else
            yield self._value(output, (owner, kind), 0.7, owner)
            if head_noun(self.entity) == head_noun(owner):
                yield self._value(output, (ANY_PERSON, kind), 0.6, self.entity)
        elif head_noun(self.entity) in KIND_WORDS:  # "find email address" finds a value
            yield self._value(output, (ANY_PERSON, kind), 0.7, self.entity)

    def _plain(self, output: Parameter) -> Iterator[ProducedValue]:
        family = type_family(output.type)
        if family == "boolean":
            return
        if family in ("", "array", "object") and output.type != output.type.lower():  # order for ``list[Order]``
            for word in _TYPE_WORDS.findall(output.type):
                entity = self.draft.names.canonical(word)
                if word.lower() not in _TYPE_NOISE and entity in self.known.entities and (entity, "id") not in self.own:
                    yield self._value(output, (entity, "id"), 0.65, entity)
        name = self.draft.names.canonical(output.name.rsplit(".", 1)[-1])
        is_key = family in ("string", "integer") and ("[]" in output.name or (name, "id") not in self.own)
        if name in AUTH_NAMES:
            yield self._value(output, AUTH_KEY, 0.9)
        elif family in ("string", "integer") and name in self.known.keys.get(self.draft.system, ()):
            if is_key:
                yield self._value(output, (name, "id"), 0.65, name)
        elif name and name not in GENERIC_NAMES and name not in CONTAINER_NAMES:
            yield self._value(output, (PLAIN_VALUE, name), 0.8)
            if is_key and name in self.known.entities:
                yield self._value(output, (name, "id"), 0.6, name)
        elif name and self.entity:
            yield self._value(output, (PLAIN_VALUE, f"{self.entity} {name}"), 0.7)

    def _primary(self) -> Iterator[ProducedValue]:
        """Yield, for each object without an id, its key as the identifier of the object's entity: ``[].slug`` of a team."""
        objects: dict[str, dict[str, Parameter]] = defaultdict(dict)
        for output, _ in self.draft.outputs:
            prefix, _, last = output.name.rpartition(".")
            if type_family(output.type) in ("string", "integer", ""):
                objects[prefix][self.draft.names.canonical(last)] = output
        for prefix, fields in objects.items():
            entity = self._object(prefix)
            if not entity or entity not in self.known.entities or prefix.count(".") > 2:
                continue
            # key for ``registrant key`` of a registrant
            named = {name.removeprefix(f"{entity} ") if name != entity else "id": each for name, each in fields.items()}
            word = next((word for word in _KEY_ORDER if word in named), "")
            own = entity == self.entity or self.entity.endswith(f" {entity}")
            if word and ID_FIELDS.isdisjoint(named) and (own or word not in _PRIMARY):
                yield self._value(named[word], (entity, "id"), _PRIMARY.get(word, _PRIMARY_CONFIDENCE), entity)

    def _inferred(self, *, entity_missing: bool) -> Iterator[ProducedValue]:
        """Yield the values inferred from the name of a tool; its own entity where the documented outputs lack it."""
        draft, entity = self.draft, self.entity
        spoken = words(local_name(draft.tool))
        if not _LOGIN.isdisjoint(spoken) or {"log", "in"} <= set(spoken) or {"sign", "in"} <= set(spoken):
            yield ProducedValue(output="", type="string", key=AUTH_KEY, confidence=0.7)
        if self.action not in _INFERRED:
            return
        name = draft.reader.subject.entity
        key = split_identifier(name, draft.names)
        if key[0] and key not in self.own and self.action != "create":
            yield ProducedValue(output="", type="string", key=key, confidence=0.85)
            return
        opaque = {output.name for output, _ in draft.outputs if type_family(output.type) in ("array", "object")}
        marks = ((name, mark.start()) for name in draft.output_names for mark in re.finditer(r"[.\[]", name))
        about = not name or name == entity or name.endswith(f" {entity}")
        wanted = about and entity_missing and not self.is_operation and entity in self.known.entities
        # Its outputs may be incomplete: none, cut, or an object or list without its fields.
        cut = not draft.outputs or "cut" in draft.tool.metadata
        if wanted and (cut or not opaque <= {name[:end] for name, end in marks}):
            confidence = _CREATED if self.action == "create" and draft.reader.steps else _INFERRED[self.action]
            if self.action == "get" and free_text_score(draft):
                confidence = 0.6  # "get customer by phone": the input is text, the output is the customer
            for field in self.consumed.fields.get(entity, ("id",)):
                if (entity, field) not in self.own:
                    value = ProducedValue(output="", type="", key=(entity, field), confidence=confidence)
                    yield replace(value, relevance=self._relevance(entity))
        gets = self.action == "get" or (self.action == "list" and spoken[:1] == ["get"])
        if gets and not draft.tool.returns and name:
            plain = " ".join(token for token in name.split() if token not in QUALIFIERS)
            yield ProducedValue(output="", type="", key=(PLAIN_VALUE, plain), confidence=0.7)


_SELF = word_list("linking", "self_words")
_NO_NAMES = frozenset(("id", "name", "key", "code", "number", "type"))  # the same name does not mean the same value
_GROUPED_BY = frozenset(("has_line_of_business", "has_department", "has_topic", "has_process"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProfile:
    """The values that a tool consumes and produces.

    :param position: its index in the catalogue.
    :param action: ``search``, ``list``, ``get``, ``create``, ``update``, ``delete`` or ``act``.
    :param free_text: how well its inputs accept free text, in [0, 1].
    :param words: the words of its name without the verb, to compare names of tools.
    :param groups: its topics, departments, processes and lines of business in the metadata.
    :param entities: all entities in its path or name.
    :param needed_keys: the keys of its required identifiers, context parameters left out.
    :param needed_names: the names of its required inputs in lower case.
    :param scope: the entities of its required identifiers, without its own and without context.
    :param vendor: the vendor of its document; empty in a catalogue of one vendor.
    :param is_self: whether it returns the caller's own record and takes no input that is required.
    :param context: names of its context parameters.
    :param path: its normal path, or empty.
    :param verb: the first word of its name.
    """

    position: int
    id: str
    system: str
    action: str
    entity: str
    consumes: tuple[ConsumedValue, ...]
    produces: tuple[ProducedValue, ...]
    free_text: float
    words: tuple[str, ...]
    groups: frozenset[str] = frozenset()
    entities: tuple[str, ...] = ()
    needed_keys: frozenset[Key] = frozenset()
    needed_names: frozenset[str] = frozenset()
    scope: frozenset[str] = frozenset()
    vendor: str = ""
    is_self: bool = False
    context: tuple[str, ...] = ()
    path: str = ""
    verb: str = ""


def profile_tools(tools: Sequence[Tool], ontology: Ontology, declared: DeclaredLinks = NO_LINKS) -> list[ToolProfile]:
    """Return the profiles of all tools of a catalogue, in its order.

    :param declared: context parameters that the owner of the catalogue declares.
    """
    drafts = [Draft(tool, system, ontology) for tool, system in zip(tools, systems_of(tools, ontology), strict=True)]
    known = KnownEntities(drafts)
    for draft in drafts:
        draft.entity = _entity(draft, known)
    for draft, context in zip(drafts, context_parameters(drafts, declared), strict=True):
        draft.context = context
        draft.consumes = consumed_values(draft, known)
    consumed = ConsumedKeys(value for draft in drafts for value in draft.consumes)
    profiles = []
    for position, (draft, vendor) in enumerate(zip(drafts, vendors_of(tools), strict=True)):
        tool, name = draft.tool, words(local_name(draft.tool))
        required = [value for value in draft.consumes if value.required and not value.context]
        keys = frozenset(value.key for value in required if value.identifier)
        needed = {one.name.rsplit(".", 1)[-1].lower() for one in tool.parameters if one.required}
        last = words(str(tool.metadata.get("path", "")))[-1:]
        profile = ToolProfile(
            position=position,
            id=tool.id,
            system=draft.system,
            action=draft.action,
            entity=draft.entity,
            consumes=draft.consumes,
            produces=Outputs(draft, known, consumed).values(),
            free_text=free_text_score(draft),
            words=tuple(dict.fromkeys(word for word in name if len(word) > 1 and not action_of(word))),
            groups=frozenset(_groups(tool, ontology)),
            entities=draft.reader.subject.entities,
            needed_keys=keys,
            needed_names=frozenset(needed - _NO_NAMES),
            scope=frozenset(key[0] for key in keys) - {draft.entity},
            vendor=vendor,
            is_self=not needed and not _SELF.isdisjoint((*name, *last)),
            context=draft.context,
            path=normal_path(tool),
            verb=name[0] if name else "",
        )
        profiles.append(profile)
    return profiles


def _entity(draft: Draft, known: KnownEntities) -> str:
    """Return the tool's entity: of those in its path and name, the first that the catalogue has identifiers of. The
    segment beside a placeholder in a path is always a collection (``/tv/{tv_id}/keywords``), also of an unknown entity;
    so is a plural at the end (``/deviceManagement/exchangeConnectors``, not ``/movie/popular``)."""
    subject, steps = draft.reader.subject, [step for step in draft.reader.steps if not step.verb]
    if len(steps) > 1:
        last = (words(str(draft.tool.metadata.get("path")).rsplit("/", 1)[-1]) or [""])[-1]
        plural = last.endswith("s") and noun_lemma(last) != last
        if steps[-1].placeholder or steps[-2].placeholder or plural:
            return subject.entity
    # Another document's entity says less: "calendar list" is an entity of some document.
    for entities in (known.of_system.get(draft.system, ()), known.entities):
        if found := next((entity for entity in subject.entities if entity in entities), ""):
            return found
    return subject.entity


def _groups(tool: Tool, ontology: Ontology) -> Iterator[str]:
    """Yield each group and the groups that contain it: ``Finance`` and ``Finance/Tax``."""
    for key, predicate in ontology.metadata_predicates.items():
        value = tool.metadata.get(key) if predicate in _GROUPED_BY else None
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and name:
                parts = name.split("/")
                yield from ("/".join(parts[: depth + 1]) for depth in range(len(parts)))
