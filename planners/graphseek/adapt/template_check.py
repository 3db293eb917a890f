"""Whether a Cypher template only reads, and names what the schema has: types by their labels, properties by the types that have them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ontology.errors import StatementError
from planners.graphseek.operators.operator import nearest_hint
from planners.stores.graph_schema import GraphSchema
from planners.stores.statements import StatementToken, allowed_cypher, in_name_position

__all__ = ["check_template"]


def check_template(template: str, schema: GraphSchema, parameters: Collection[str], used: Collection[str]) -> str:
    """Return what may go to the engine.

    :param parameters: names that it may refer to.
    :param used: those that it has to refer to.
    :raises StatementError: when it is refused; the problem is written for whoever wrote it.
    """
    allowed = allowed_cypher(template, write=False)
    given = {token.text[1:] for token in allowed.tokens if token.kind == "parameter"}
    if unknown := sorted(given - set(parameters)):
        raise _refused(f"${unknown[0]} is no argument of the operator", f"Use {_listed(parameters)}")
    if missing := sorted(set(used) - given):
        raise _refused(f"the template does not use ${missing[0]}", f"Use {_listed(used)}")
    _check_names(allowed.tokens, schema)
    return allowed.text


def _check_names(tokens: Sequence[StatementToken], schema: GraphSchema) -> None:
    names = _Names.of(schema)
    owners = _owners(tokens)
    for at, opened in _with_bracket(tokens):
        token, before = tokens[at], tokens[at - 1] if at else None
        if not token.is_name or before is None or not in_name_position(tokens, at):
            continue
        if before.symbol("."):
            types = owners.get(tokens[at - 2].text, frozenset()) if tokens[at - 2].is_name else frozenset()
            _check(token.text, names.properties_of(types), f"property of {' or '.join(sorted(types)) or 'the schema'}")
        elif before.symbol("{", ","):
            _check(token.text, names.properties_of(()), "property of the schema")
        elif not (opened == "{" and before.symbol(":") and at > 2 and tokens[at - 3].symbol("{", ",")):
            _check(token.text, names.types, "type of nodes or relationships")


def _check(name: str, known: Iterable[str], what: str) -> None:
    listed = sorted(known)
    if name not in listed:
        raise _refused(f"{name[:60]!r} is no {what}", nearest_hint(name, listed))


def _owners(tokens: Sequence[StatementToken]) -> dict[str, frozenset[str]]:
    """Return the labels or types of each variable that a pattern gives some."""
    found: dict[str, frozenset[str]] = {}
    for at, token in enumerate(tokens[:-2]):
        if token.symbol("(", "[") and tokens[at + 1].is_name and tokens[at + 2].symbol(":"):
            end = next(
                place
                for place in range(at + 2, len(tokens))
                if not (tokens[place].is_name or tokens[place].symbol(":", "|"))
            )
            names = {each.text for each in tokens[at + 2 : end] if each.is_name}
            found[tokens[at + 1].text] = found.get(tokens[at + 1].text, frozenset()) | names
    return found


def _with_bracket(tokens: Sequence[StatementToken]) -> Iterator[tuple[int, str]]:
    """Yield the place of each token, and the bracket that it stands in."""
    opened = [""]
    for at, token in enumerate(tokens):
        if token.symbol(")", "]", "}"):
            opened.pop()
        yield at, opened[-1]
        if token.symbol("(", "[", "{"):
            opened.append(token.text)


@dataclass(frozen=True, slots=True)
class _Names:
    """Properties by label or type of relationships."""

    owned: dict[str, frozenset[str]]

    @classmethod
    def of(cls, schema: GraphSchema) -> _Names:
        owned: dict[str, frozenset[str]] = {}
        for each in schema.nodes:
            own = {key.name for key in each.properties} | ({each.mark.property} - {""})
            owned[each.mark.label] = owned.get(each.mark.label, frozenset()) | own
        for other in schema.relationships:
            owned[other.name] = owned.get(other.name, frozenset()) | {key.name for key in other.properties}
        return cls(owned)

    @property
    def types(self) -> Iterable[str]:
        return self.owned

    def properties_of(self, types: Collection[str]) -> frozenset[str]:
        """Return the properties of types; of all where none of them is known."""
        known = [self.owned[each] for each in types if each in self.owned] or list(self.owned.values())
        return frozenset().union(*known)


def _listed(names: Collection[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names)) or "none"


def _refused(problem: str, remedy: str) -> StatementError:
    return StatementError(problem, subject="Cypher", remedy=remedy)
