"""Ways that a question does not choose between."""

from __future__ import annotations

import pytest

from planners.graphs.graph_schema import GraphSchema, NodeType, RelationshipEnds, RelationshipType, TypeMark
from planners.graphseek.catalog.semantic_catalog import SemanticCatalog
from planners.graphseek.rules.phrase_lexicon import Lexicon
from planners.graphseek.rules.question_reading import Reading, Stop
from planners.graphseek.rules.relation_choice import RelationChoice, TwoReadingsError

_ENDS = (
    ("CITES", "Book", "Paper"),
    ("WRITTEN_BY", "Paper", "Person"),
    ("IN", "Book", "Room"),
    ("KEPT_BY", "Room", "Person"),
)
_SCHEMA = GraphSchema(
    nodes=tuple(NodeType(name=name, mark=TypeMark(label=name)) for name in ("Book", "Paper", "Room", "Person")),
    relationships=tuple(
        RelationshipType(name=name, ends=(RelationshipEnds(source=source, target=target),))
        for name, source, target in _ENDS
    ),
)


def test_between_longer_ways_it_is_asked_which_is_meant() -> None:
    reading = Reading(kind="list", targets=("Book",), target=Stop(at=0, types=("Book",)))
    choice = RelationChoice(reading, _SCHEMA, Lexicon(_SCHEMA, SemanticCatalog()))
    with pytest.raises(TwoReadingsError, match="by CITES and WRITTEN_BY or by IN and KEPT_BY"):
        choice.routes("Book", "Person")
    assert [[hop.relationship for hop in each.hops] for each in choice.routes("Book", "Room")] == [["IN"]]
