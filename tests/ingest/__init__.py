"""What the tests of the tool graph share."""

from ontology import Provenance, Triple


def triple(
    head: str,
    predicate: str,
    tail: str,
    *,
    types: tuple[str, str] = ("tool", "business_object"),
    confidence: float = 1.0,
    tool: str = "",
    field: str = "name",
    span: tuple[int, int] = (-1, -1),
    phrase: str = "",
) -> Triple:
    """A triple that the document of a tool says, which is its head where none is named."""
    provenance, (head_type, tail_type) = Provenance(tool or head, field, "rules.v1", *span), types
    return Triple(
        head=head,
        head_type=head_type,
        predicate=predicate,
        tail=tail,
        tail_type=tail_type,
        confidence=confidence,
        provenance=provenance,
        phrase=phrase,
    )
