"""The weights of a joined index are those of an index of all tools: a change counts in the frequencies of terms."""

from __future__ import annotations

import numpy as np

from ontology.tool import Tool
from retrieval.delta.joined_lexical import joined_fields
from retrieval.delta.numbering import Numbering
from retrieval.index.analysis import terms
from retrieval.index.bm25 import Bm25Index, make_postings

_BASE = ("invoice supplier ledger", "invoice customer ticket", "shipment customer harbour")
_ADDED = ("ledger ledger harbour", "ledger ticket crane", "ledger crane depot")  # ledger was rare, and is common now


def _text(tool: Tool) -> str:
    return tool.description


def test_a_term_that_changes_made_common_weighs_as_in_a_build() -> None:
    tools = [Tool(id=f"t{number}", name=f"t{number}", description=text) for number, text in enumerate(_BASE + _ADDED)]
    documents = [terms(_text(tool)) for tool in tools]
    base = Bm25Index(make_postings(documents[:3]), 3)
    numbering = Numbering(
        of_base=np.arange(3),
        of_added=np.arange(3, 6),
        origins=np.asarray([0, 1, 2, -1, -2, -3]),
        tool_count=6,
        added_tools=3,
    )
    joined = joined_fields({"text": base}, {"text": _text}, numbering, tools[3:], tools.__getitem__)["text"]
    built = Bm25Index(make_postings(documents), 6)
    for word in sorted({word for document in documents for word in document}):
        np.testing.assert_allclose(joined.scores([word]), built.scores([word]), rtol=1e-4, err_msg=word)
    assert base.scores(documents[0])[0] != built.scores(documents[0])[0]
