"""Which templates of a model may run: those that read, with the arguments of the operator and the names of the schema."""

from __future__ import annotations

import pytest

from ontology.errors import StatementError
from planners.graphseek.adapt.template_check import check_template
from planners.stores.graph_schema import (
    GraphSchema,
    NodeType,
    PropertyKey,
    RelationshipEnds,
    RelationshipType,
    TypeMark,
)


def _node(name: str, mark: TypeMark, *properties: str) -> NodeType:
    keys = tuple(PropertyKey(name=each, type="string") for each in properties)
    return NodeType(name=name, mark=mark, key=properties[0], properties=keys)


SCHEMA = GraphSchema(
    nodes=(
        _node("Car", TypeMark(label="Car"), "key", "title"),
        _node("Site", TypeMark(label="Site"), "key", "name", "year"),
        _node("Tool", TypeMark(label="Any", property="kind", value="Tool"), "id", "team"),
        _node("Team", TypeMark(label="Any", property="kind", value="Team"), "id", "size"),
    ),
    relationships=(
        RelationshipType(
            name="BUILT_AT",
            ends=(RelationshipEnds(source="Car", target="Site"),),
            properties=(PropertyKey(name="cost", type="number"),),
        ),
    ),
)


@pytest.mark.parametrize(
    "template",
    [
        "MATCH (c:Car {title: $name})-[r:BUILT_AT]->(s:Site) WHERE r.cost > 1 AND s.year IN $years RETURN s AS site, c.title AS car",
        "MATCH (c:Car)-[:BUILT_AT*1..2]-(s) WHERE c.title = $name AND s.name <> 'x.title:Nothing' RETURN s /* c.name */",
        "MATCH (t:Any {kind: 'Tool'}) WHERE t.team = $name OR t.size = 1 RETURN t",
        "MATCH (c:`Car`|Site) WHERE c.name = $name OR EXISTS { MATCH (c)-[:BUILT_AT]->(:Site) } RETURN {key: c.key, name: c} AS x",
        "UNWIND $years AS y WITH y AS z MATCH (s:Site) WHERE s.year = z AND s:Site AND s.name = $name RETURN s;",
    ],
)
def test_templates_that_may_run(template: str) -> None:
    text = check_template(template, SCHEMA, ("name", "years"), ("name",) if "$name" in template else ())
    assert text.startswith(template[:5]) and "/*" not in text and ";" not in text


@pytest.mark.parametrize(
    ("template", "problem", "hint"),
    [
        ("MATCH (c:Car) WHERE c.name = $name RETURN c", "'name' is no property of Car", "Known: key, title"),
        ("MATCH (c:Car {name: $nam}) RETURN c", "$nam is no argument", "$name"),
        ("MATCH (c:Car {nme: $name}) RETURN c", "'nme' is no property of the schema", "nearest is name"),
        ("MATCH (c:Lorry {title: $name}) RETURN c", "'Lorry' is no type", "Known: Any"),
        ("MATCH (c:Car)-[r:BUILT_AT]->() WHERE r.price = $name RETURN c", "'price' is no property of BUILT_AT", "cost"),
        ("MATCH (c:Car)-[:MADE_AT|BUILT_AT]->() WHERE c.title = $name RETURN c", "'MADE_AT' is no type", ""),
        ("MATCH (t:Any) WHERE t.name = $name RETURN t", "'name' is no property of Any", "Known: id, kind, size, team"),
        ("MATCH (c) WHERE c:Lorry AND c.title = $name RETURN c", "'Lorry' is no type", ""),
        ("MATCH (c) WHERE c.`tit``le` = $name RETURN c", "is no property of the schema", ""),
        ("MATCH (c:Car) WHERE EXISTS { MATCH (c)-[:MADE_AT]->() } AND c.title = $name RETURN c", "'MADE_AT'", ""),
        ("MATCH (c:Car) RETURN c.title", "does not use $name", "$name"),
        ("MATCH (c:Car {title: '$name'}) RETURN c", "does not use $name", ""),
        ("MATCH (c:Car {title: $name}) SET c.title = 'x' RETURN c", "SET changes the graph", ""),
        ("MATCH (c:Car {title: $name}) RETURN c; MATCH (n) DELETE n", "several statements", ""),
        ("CALL db.labels() YIELD label RETURN label", "cannot start with 'CALL'", ""),
        ("LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line, $name", "cannot start with 'LOAD'", ""),
        ("MATCH (c:Car {title: $name}) RETURN apoc.load.json('http://x')", "dotted name", ""),
        ("UNWIND range(1, 1000000000) AS a MATCH (c:Car {title: $name}) RETURN c", "bound of range", ""),
        ("MATCH (c:Car {title: $name) RETURN c", "bracket", ""),
    ],
)
def test_templates_that_are_refused(template: str, problem: str, hint: str) -> None:
    with pytest.raises(StatementError) as refused:
        check_template(template, SCHEMA, ("name",), ("name",))
    assert problem in refused.value.problem and hint in (refused.value.remedy or "")
