"""The indexes against boring oracles: rank-bm25, numpy brute force, dictionaries, networkx, the plain reading of a filter."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.systems import make_ablations
from inference import Floats2d, HashingEncoder
from ontology.errors import InvalidArgumentError, SnapshotCorruptError
from ontology.tool import Tool
from ontology.value_shape import KIND_SHAPES, ShapeUse, ValueShape
from retrieval.engine import Engine
from retrieval.index.adjacency import make_adjacency
from retrieval.index.bm25 import Bm25Index, make_postings
from retrieval.index.filters import FilterIndex, write_filters
from retrieval.index.phrases import PhraseVectors, phrase_vectors, phrases_of, read_phrases
from retrieval.index.records import Records, write_columns, write_records
from retrieval.index.value_shapes import ValueShapes, write_value_shapes
from retrieval.index.vectors import NodeVectors, write_vectors
from retrieval.query.request import Request
from retrieval.snapshot.reader import open_snapshot
from tests.harness.hash_seeds import said_by
from tests.retrieval.conftest import SAID

relaxed = settings(max_examples=60)
word = st.sampled_from(["order", "item", "supplier", "date", "ü", "订单", "list", "get"])


@relaxed
@given(
    documents=st.lists(st.lists(word, max_size=6), min_size=1, max_size=40),
    query=st.lists(word, max_size=6),
    count=st.integers(1, 45),
    seed=st.integers(0, 9),
)
def test_bm25_of_some_tools_and_of_the_best_agrees_with_the_scores_of_all(
    documents: list[list[str]], query: list[str], count: int, seed: int
) -> None:
    index = Bm25Index(make_postings(documents), len(documents))
    scores, draw = index.scores(query), np.random.default_rng(seed)
    some = np.flatnonzero(draw.random(len(documents)) < 0.5)
    with pytest.MonkeyPatch.context() as patch:
        for sparse_from in (0, 1_000):  # looked up in the postings, and taken from the scores of all
            patch.setattr("retrieval.index.bm25.SPARSE_FROM", sparse_from)
            assert index.scores_of(some, query).tolist() == scores[some].tolist()
    for allowed in (None, draw.random(len(documents)) < 0.5):
        may = [number for number in np.flatnonzero(scores) if allowed is None or allowed[number]]
        best = sorted(may, key=lambda number: (-scores[number], number))[:count]
        assert index.best(query, count, allowed=allowed).tolist() == sorted(best)


@relaxed
@given(edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40).map(sorted))
def test_what_is_around_some_nodes_agrees_with_networkx(edges: list[tuple[int, int]]) -> None:
    heads, tails = np.asarray(edges, dtype=np.int32).reshape(-1, 2).T
    kinds, certain = np.zeros(len(edges), dtype=np.uint8), np.ones(len(edges), dtype=np.float32)
    adjacency = make_adjacency(10, heads=heads, tails=tails, predicates=kinds, confidences=certain)
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph(edges)
    graph.add_nodes_from(range(10))
    around = {other for node in range(0, 10, 3) for other in (node, *nx.all_neighbors(graph, node))}
    assert set(np.flatnonzero(adjacency.with_neighbours(np.arange(10) % 3 == 0)).tolist()) == around
    ends = [(node, other) for edge in edges for node, other in (edge, edge[::-1])]
    touching = [sum(end == node and other < 4 for end, other in ends) for node in range(10)]
    assert adjacency.tool_degrees(4, 10).tolist() == touching


@relaxed
@given(rows=st.lists(st.dictionaries(st.text(max_size=4), st.text(max_size=8), max_size=3), max_size=20))
def test_records_give_back_what_was_written(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    write_records(tmp_path / "rows", rows)
    records = Records(tmp_path / "rows", dict)
    assert list(records) == rows
    assert [records[place] for place in reversed(range(len(rows)))] == rows[::-1]
    with pytest.raises(SnapshotCorruptError):
        records[len(rows)]


# -- filters -----------------------------------------------------------------------------------------------------------


TOOLS = [
    Tool(id="pay/run", name="run", metadata={"department": "finance", "tags": ["payroll", "payment"]}),
    Tool(id="pay/stop", name="stop", metadata={"department": "finance", "deprecated": True}),
    Tool(id="hr/get", name="get", metadata={"department": "hr", "tags": ["person", "!odd", "star*"]}),
    Tool(id="bare", name="bare"),
    *(Tool(id=f"many/{n:02}", name=f"{n}", metadata={"code": f"c{n:02}"}) for n in range(30)),
]
TOOLS.sort(key=lambda tool: tool.id)  # as in every snapshot
IDS = [tool.id for tool in TOOLS]


@pytest.fixture(scope="module")
def filter_index(tmp_path_factory: pytest.TempPathFactory) -> FilterIndex:
    folder = tmp_path_factory.mktemp("filters")
    write_filters(folder, TOOLS)
    return FilterIndex(folder, len(TOOLS), IDS.__getitem__, {id_: n for n, id_ in enumerate(IDS)}.get)


def passing(filter_index: FilterIndex, **filters: tuple[str, ...]) -> set[str]:
    return {id_ for id_, passes in zip(IDS, filter_index.passing(filters), strict=True) if passes and "many" not in id_}


MEANT: list[tuple[str, tuple[str, ...], set[str]]] = [
    ("department", ("finance",), {"pay/run", "pay/stop"}),
    ("department", ("finance", "hr"), {"pay/run", "pay/stop", "hr/get"}),
    ("department", ("!finance",), {"hr/get", "bare"}),
    ("department", ("!finance", "!hr"), {"bare"}),
    ("tags", ("pay*",), {"pay/run"}),
    ("tags", ("!pay*",), {"pay/stop", "hr/get", "bare"}),
    ("tags", ("p*", "!payroll"), {"hr/get"}),
    ("tags", ("!odd",), {"pay/run", "pay/stop", "hr/get", "bare"}),  # an exclusion, although a tool has this very value
    ("tags", ("!star*",), {"pay/run", "pay/stop", "bare"}),
    ("tags", ("star*", "pay*"), {"hr/get", "pay/run"}),
    ("deprecated", ("true",), {"pay/stop"}),
    ("id", ("pay/stop", "bare"), {"pay/stop", "bare"}),
    ("id", ("pay/*", "!pay/run"), {"pay/stop"}),
    ("deprecated", ("!false",), {"pay/run", "pay/stop", "hr/get", "bare"}),  # what no tool has excludes nothing
    ("owner", ("!x", "!y*"), {"pay/run", "pay/stop", "hr/get", "bare"}),
    ("id", ("!no/such",), {"pay/run", "pay/stop", "hr/get", "bare"}),
    ("tags", ("p*", "!zz*"), {"pay/run", "hr/get"}),
    ("id", ("!pay/run", "!many/*"), {"pay/stop", "hr/get", "bare"}),
    ("id", ("pay/*", "p*", "pay/r*", "h*"), {"pay/run", "pay/stop", "hr/get"}),  # patterns that overlap
]


def test_a_value_is_meant_as_it_is_written(filter_index: FilterIndex, subtests: pytest.Subtests) -> None:
    for key, some_tags, found in MEANT:
        with subtests.test(ascii(key)):
            assert passing(filter_index, **{key: some_tags}) == found


@pytest.mark.parametrize(
    ("filters", "subject", "remedy"),
    [
        ({"Department": ("hr",)}, "filters", "Known keys: department, deprecated, code, effect, id, tags"),
        ({"department": ("Finance",)}, "filters.department", "Known values: finance, hr"),
        ({"Department": ("!hr", "it")}, "filters", "Known keys: department, deprecated, code, effect, id, tags"),
        ({"department": ("!hr", "sales")}, "filters.department", "Known values: finance, hr"),
        ({"tags": ("zz*",)}, "filters.tags", "Known values: !odd, payment, payroll, person, star*"),
        ({"id": ("pay/runs",)}, "filters.id", "Known values: pay/run, pay/stop,"),
        ({"code": ("C07",)}, "filters.code", "Known values: c07, c00, c01,"),
        ({"tags": ()}, "filters.tags", "Give the allowed values"),
        ({"id": ("*",)}, "filters.id", "Write how the value begins"),
        ({"tags": ("person", "!*")}, "filters.tags", "Write how the value begins"),
    ],
)
def test_what_no_tool_has_is_an_error_that_lists_what_there_is(
    filter_index: FilterIndex, filters: dict[str, tuple[str, ...]], subject: str, remedy: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        filter_index.passing(filters)
    assert caught.value.subject == subject
    assert caught.value.remedy.startswith(remedy)


some_tags = st.sampled_from(["payroll", "payment", "person", "!odd", "star*", "pay*", "*", "!payroll", "!p*", "!*"])


@given(wanted=st.lists(some_tags, min_size=1, max_size=5).map(tuple))
def test_against_the_plain_reading(filter_index: FilterIndex, wanted: tuple[str, ...]) -> None:
    def has(tool: Tool, value: str) -> bool:
        own = set(tool.metadata.get("tags", ()))
        return any(tag.startswith(value[:-1]) for tag in own) if value.endswith("*") else value in own

    def passes(tool: Tool) -> bool:
        negated = [value for value in wanted if value.startswith("!")]
        positive = [value for value in wanted if value not in negated]
        if any(has(tool, value[1:]) for value in negated):
            return False
        return not positive or any(has(tool, value) for value in positive)

    assert [passes(tool) for tool in TOOLS] == filter_index.passing_if_known({"tags": wanted}).tolist()


# -- everyday phrases --------------------------------------------------------------------------------------------------


ENCODER = HashingEncoder()


def test_the_cosine_of_a_tool_is_that_of_its_best_phrase_and_least_where_it_has_none(said: Path) -> None:
    snapshot = open_snapshot(said)
    vectors = snapshot.phrase_vectors
    assert isinstance(vectors, PhraseVectors)
    asked = ENCODER.encode(["reward a vendor for great work", "find suppliers by words"])
    tools = np.asarray([5, 2, 0, 3])
    found = vectors.similarities_of(list(asked), tools)
    for query_D, cosines in zip(asked, found, strict=True):
        texts = [phrases_of(snapshot.tool(int(tool)).metadata) for tool in tools]
        assert {bool(each) for each in texts} == {True, False}
        expected = [max((float(row @ query_D) for row in ENCODER.encode(list(each))), default=-1.0) for each in texts]
        assert cosines == pytest.approx(expected, abs=5e-3)
    assert [len(each) for each in vectors.similarities_of(list(asked), np.empty(0, dtype=np.int64))] == [0, 0]


@pytest.mark.parametrize(
    "change",
    [
        *({"values": np.zeros((2, width), dtype=kind)} for width, kind in ((4, np.int8), (3, np.float32))),
        *({"scales": np.full(size, value, np.float32)} for size, value in ((3, 0), (2, np.nan))),
        *({"pointers": np.asarray(ends)} for ends in ([0, 2], [0, 3, 2])),
    ],
)
def test_vectors_of_phrases_that_do_not_match_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    write_columns(tmp_path, "phrases", replace(phrase_vectors(np.eye(2, 3, dtype=np.float32), [2, 0]), **change))
    with pytest.raises(SnapshotCorruptError, match="do not match"):
        read_phrases(tmp_path, tools=2, dimensions=3)


@pytest.mark.parametrize("words", ["a little something for going the extra mile", "buy from a vendor"])
def test_words_of_a_phrase_find_its_tool_with_phrases_alone(said: Path, engine: Engine, words: str) -> None:
    wanted = next(tool for tool, texts in SAID.items() if words in texts)
    with_phrases = Engine(open_snapshot(said), ENCODER)
    assert with_phrases.retriever("default").retrieve(Request(query=words, k=1)).tools[0].id == wanted
    assert with_phrases.retriever("default").retrieve(Request(query="", needs=(words,), k=1)).tools[0].id == wanted
    without = make_ablations(with_phrases.snapshot, ENCODER)["default-no-phrases"]
    for found, plain in (
        (without.retrieve(Request(query=words, k=6)), engine.retriever("default").retrieve(Request(query=words, k=6))),
        *((each.retriever(preset).retrieve(Request(query=words, k=6)) for each in (with_phrases, engine)) for preset in ("rrf", "paper", "bm25", "fusion")),
    ):  # fmt: skip
        assert [(tool.id, tool.score) for tool in found.tools] == [(tool.id, tool.score) for tool in plain.tools]


def test_an_answer_says_what_people_say_where_no_word_of_the_document_matches(said: Path) -> None:
    found = Engine(open_snapshot(said), ENCODER).retriever("default")
    first = found.retrieve(Request(query="going the extra mile", k=1, explanation=True)).tools[0]
    assert first.explanation.startswith('people say "a little something for going the extra mile')


def test_a_caller_finds_no_hidden_tool_by_its_phrases(said: Path) -> None:
    visible = Engine(open_snapshot(said), ENCODER).restricted({"line_of_business": ["HR"]})
    found = visible.retriever("default").retrieve(Request(query="buy from a vendor", k=10)).tools
    assert all(tool.id.startswith("hr/") for tool in found)


# -- shapes of values --------------------------------------------------------------------------------------------------


SHAPED = {"itsm/get_incident": 0, "projects/get_issue": 1, "finance/get_invoice": 2}


def use(pattern: str, tool: str, parameter: str, entity: str, *, is_widened: bool = False) -> ShapeUse:
    shape = KIND_SHAPES.get(pattern) or ValueShape(pattern)
    return ShapeUse(shape=shape, tool=tool, parameter=parameter, entity=entity, is_widened=is_widened)


USE = ("itsm/get_incident", "incident_id", "incident")
USES = [
    use(r"INC\d{7}", *USE),
    use(r"OPS\-\d{2,5}", "projects/get_issue", "key", "issue"),
    use(r"[A-Z]{2,10}\-\d{2,5}", "projects/get_issue", "key", "issue", is_widened=True),
    use(r"51\d{8}", "finance/get_invoice", "invoice", "invoice"),
    use(r"\d{10}", "finance/get_invoice", "document", "document"),
    use("email", "itsm/get_incident", "caller", "person"),
    use("iban", "finance/get_invoice", "iban", "bank account"),
    use("phone", "itsm/get_incident", "phone", "person"),
    use(r"[0-9A-Z]{18}", "finance/get_invoice", "tracking", "parcel"),
]


@pytest.fixture(scope="module")
def shape_index(tmp_path_factory: pytest.TempPathFactory) -> ValueShapes:
    folder = tmp_path_factory.mktemp("shapes")
    write_value_shapes(folder, USES, SHAPED)
    return ValueShapes(folder, len(SHAPED))


def found(shape_index: ValueShapes, text: str) -> list[tuple[str, tuple[str, ...]]]:
    matches = shape_index.match(text)
    assert all(text[match.start : match.end] == match.text for match in matches)
    return [(match.text, match.entities) for match in matches]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Please close INC0012345.", [("INC0012345", ("incident",))]),
        ("close (inc0012345)!", [("inc0012345", ("incident",))]),
        ("#INC0012345's caller", [("INC0012345", ("incident",))]),
        ("https://desk.example/INC0012345?x=1", [("INC0012345", ("incident",))]),
        ("PO/5105600123", [("5105600123", ("invoice",)), ("5105600123", ("document",))]),
        ("mail anna@example.com about OPS-17", [("OPS-17", ("issue",)), ("anna@example.com", ("person",))]),
        ("move CRM-42", [("CRM-42", ("issue",))]),
        (
            "call +44 113 496 0017 or pay DE89 3704 0044 0532 0130 00",
            [("+44 113 496 0017", ("person",)), ("DE89 3704 0044 0532 0130 00", ("bank account",))],
        ),
        ("the top-10 of 2024, 42 INCIDENTS and XINC0012345", []),
        ("number 111111111111111111", []),
        ("", []),
    ],
)
def test_values_are_found_with_their_entities(
    shape_index: ValueShapes, text: str, values: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert found(shape_index, text) == values


def test_shapes_of_large_patterns_are_looked_up_for_fewer_values(tmp_path: Path) -> None:
    write_value_shapes(tmp_path, [use(rf"V\S{{1,{600 + number}}}", *USE) for number in range(60)], SHAPED)
    found = {match.text for match in ValueShapes(tmp_path, 3).match(" ".join(f"V{number:06}" for number in range(300)))}
    assert "V000000" in found
    assert "V000299" not in found


@pytest.mark.parametrize(
    "row",
    [
        {"pattern": "(?=a)b", "kind": "", "uses": [[0, "p", "e", False, "example", False]]},
        {"pattern": "x", "kind": "uuid", "uses": [[0, "p", "e", False, "example", False]]},
        {"pattern": r"INC\d{7}", "kind": "", "uses": [[9, "p", "e", False, "example", False]]},
        {"pattern": r"INC\d{7}", "kind": "", "uses": [[0, "p", "e", 0, "example", False]]},
        {"pattern": r"INC\d{7}", "kind": "", "uses": []},
        {"pattern": 3, "kind": "", "uses": [[0, "p", "e", False, "example", False]]},
        ["no object"],
    ],
)
def test_an_altered_index_is_refused(tmp_path: Path, row: object) -> None:
    write_records(tmp_path / "value_shapes", [row])
    with pytest.raises(SnapshotCorruptError, match="value shapes"):
        ValueShapes(tmp_path, 3).match("INC0012345")


# -- vectors -----------------------------------------------------------------------------------------------------------


ROWS, VECTOR_TOOLS, K = 4_000, 1_500, 100


def test_the_stored_values_are_read_exactly(tmp_path: Path) -> None:
    stored = np.arange(2**16, dtype=np.uint16).view(np.float16)
    values = stored[np.isfinite(stored)].astype(np.float32).reshape(-1, 8)
    write_vectors(tmp_path, "all", values, with_index=False)
    read = NodeVectors(tmp_path, "all").rows(np.arange(len(values)))
    assert read.tobytes() == values.tobytes()


def _unit_rows(rows: int, *, seed: int) -> Floats2d:
    """Rows of 40 groups, as texts of like tools are."""
    draw = np.random.default_rng(seed)
    middles = np.random.default_rng(0).normal(size=(40, 48))
    made = middles[draw.integers(0, 40, size=rows)] + 0.6 * draw.normal(size=(rows, 48))
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


@pytest.fixture(scope="module")
def vectors() -> Floats2d:
    return _unit_rows(ROWS, seed=1)


@pytest.fixture(params=[10_000, 0], ids=["exact", "codes"])
def vector_index(request: pytest.FixtureRequest, tmp_path: Path, vectors: Floats2d) -> NodeVectors:
    write_vectors(tmp_path, "nodes", vectors, tool_count=VECTOR_TOOLS, exact_limit=request.param)
    assert len(list(tmp_path.glob("*.rabitq"))) == (0 if request.param else 2)
    return NodeVectors(tmp_path, "nodes", tool_count=VECTOR_TOOLS)


@pytest.mark.parametrize("tools_only", [True, False], ids=["tools", "nodes"])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.03])
def test_filters_lose_no_rows(vector_index: NodeVectors, vectors: Floats2d, share: float, tools_only: bool) -> None:
    allowed = np.random.default_rng(2).random(ROWS) < share
    known = np.flatnonzero(allowed & (np.arange(ROWS) < (VECTOR_TOOLS if tools_only else ROWS)))
    search = vector_index.nearest_tools if tools_only else vector_index.nearest
    found = wanted = 0
    for query in _unit_rows(20, seed=3):
        rows, cosines = search(query, K, allowed=None if share == 1.0 else allowed)
        exact = known[np.lexsort((known, -(vectors[known] @ query)))[:K]]
        assert len(rows) == len(exact) == len(set(rows.tolist()))
        assert set(rows.tolist()) <= set(known.tolist())
        np.testing.assert_allclose(cosines, (vectors @ query)[rows], atol=2e-3)
        assert list(cosines) == sorted(cosines, reverse=True)
        found += len(set(rows.tolist()) & set(exact.tolist()))
        wanted += len(exact)
    assert found >= 0.97 * wanted


@pytest.mark.parametrize("exact_limit", [10_000, 0], ids=["exact", "codes"])
def test_of_equal_rows_the_first_are_returned(tmp_path: Path, exact_limit: int) -> None:
    rows = np.repeat(_unit_rows(2, seed=5), 20, axis=0)
    write_vectors(tmp_path, "nodes", rows, tool_count=30, exact_limit=exact_limit)
    vector_index = NodeVectors(tmp_path, "nodes", tool_count=30)
    assert vector_index.nearest_tools(rows[0], 5)[0].tolist() == [0, 1, 2, 3, 4]
    assert vector_index.nearest(rows[-1], 15)[0].tolist() == list(range(20, 35))
    assert vector_index.nearest_tools(rows[0], 0)[0].tolist() == []


def test_rows_far_from_a_query_are_found_where_no_others_are_allowed(
    vector_index: NodeVectors, vectors: Floats2d
) -> None:
    query = vectors[0]
    far = np.argsort(vectors @ query)[: ROWS // 2]
    allowed = np.isin(np.arange(ROWS), far)
    assert len(vector_index.nearest(query, K, allowed=allowed)[0]) == K


_CODES = """
import hashlib, pathlib, tempfile
from retrieval.index.vectors import write_vectors
from tests.retrieval.test_indexes import _unit_rows
with tempfile.TemporaryDirectory() as folder:
    write_vectors(pathlib.Path(folder), "nodes", _unit_rows(200, seed=1), tool_count=30, exact_limit=10)
    files = sorted(pathlib.Path(folder).iterdir())
    print([(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files])
"""


def test_codes_of_the_same_rows_are_the_same_bytes_in_another_process() -> None:
    assert len(said_by(_CODES)) == 1
