"""What the tests of the readers share."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from ingest.sources import Document, RejectedRecord, Source
from ontology.tool import Tool


def read_file(
    source: Source, path: Path, content: Any, *, namespace: str = ""
) -> tuple[dict[str, Tool], list[RejectedRecord]]:
    """The tools by id and the rejected records of a file that a reader accepts; what is neither text nor bytes is written as JSON."""
    raw = (
        content
        if isinstance(content, bytes)
        else (content if isinstance(content, str) else json.dumps(content)).encode()
    )
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    document = Document(path.name, path=path, namespace=namespace)
    assert source.accepts(document)
    return split(source.read(document))


def split(items: Iterable[Tool | RejectedRecord]) -> tuple[dict[str, Tool], list[RejectedRecord]]:
    """The tools by id, each once, and the rejected records."""
    found = list(items)
    tools = [item for item in found if isinstance(item, Tool)]
    assert len({tool.id for tool in tools}) == len(tools)
    return {tool.id: tool for tool in tools}, [item for item in found if isinstance(item, RejectedRecord)]


def any_json(keys: str, *texts: str) -> st.SearchStrategy[Any]:
    """Small JSON values of any form, whose objects have some of these keys; some of their texts are these."""
    leaves = (
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(texts or ("",))
    )

    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys.split()), inner, max_size=5)

    return st.recursive(leaves, around, max_leaves=20)
