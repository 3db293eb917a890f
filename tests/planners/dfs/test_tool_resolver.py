"""The resolver over tools that a real server returns over gRPC, called for real; random libraries against a look into the tables."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from egotools import Tool
from egotools.calling.invoker import ToolAnswer, ToolInvoker
from ontology.errors import BudgetExceededError, ToolCallError
from planners.calls.tool_access import CallLimits, CallPipeline, PythonInvoker
from planners.calls.tool_finder import Finder, FoundTool, FoundTools, ToolFinder
from planners.dfs.resolver import Entity, Step
from planners.dfs.tool_resolver import ToolResolver
from planners.query.domain import Domain, read_domain
from planners.query.query_graph import FilterConstraint
from tests.harness.servers import client_of
from tests.planners.dfs.library_tools import STOCK, Library

MODULE = "tests.planners.dfs.library_tools"
DOMAIN: Domain = read_domain(Path(__file__).with_name("library.yaml"))
WROTE = Step("Author", "written_by", "Book", forward=False)
BY = Step("Book", "written_by", "Author", forward=True)
ONE_BY_ONE = Step("Author", "first_author", "Book", forward=False)


class Ranked:
    """A finder that returns tools of the snapshot in an order of the test's own."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools = tuple(tools)
        self.asked: list[str] = []

    async def find(self, request: str) -> FoundTools:
        self.asked.append(request)
        await asyncio.sleep(0)
        found = (
            FoundTool(rank=rank, score=-rank, explanation="", tool=tool) for rank, tool in enumerate(self.tools, 1)
        )
        return FoundTools(request=request, tools=tuple(found), snapshot_id="s")


@pytest.fixture
def library() -> Library:
    return Library(dict(STOCK.authors), dict(STOCK.stock))


@pytest.fixture
async def finder(library_store: Path) -> AsyncIterator[ToolFinder]:
    async with client_of(library_store) as client:
        yield ToolFinder(client)


@pytest.fixture(scope="module")
def documents(library_store: Path) -> dict[str, Tool]:
    """Every tool of the snapshot as the service returns it, by name."""

    async def read() -> dict[str, Tool]:
        async with client_of(library_store) as client:
            tools = [await client.get_tool(tool_id) async for tool_id in client.tool_ids()]
        return {tool.name: tool for tool in tools}

    return asyncio.run(read())


def over(
    finder: Finder, library: Library, invoker: ToolInvoker | None = None, domain: Domain = DOMAIN, **options: object
) -> ToolResolver:
    invoker = invoker or PythonInvoker([], objects={MODULE: library})
    return ToolResolver(domain, finder, invoker, **options)  # type: ignore[arg-type]


def ids(found: Sequence[Entity]) -> list[str]:
    return [entity.id for entity in found]


def where(field: str, op: str, value: str) -> FilterConstraint:
    return FilterConstraint(var="x", field=field, op=op, value=value)  # type: ignore[arg-type]


def wrote(library: Library, sources: Iterable[str]) -> set[tuple[str, str]]:
    return {(author, book) for author in sources for book, (_, _, by) in library.stock.items() if author in by}


class TestOverGrpc:
    async def test_each_direction_is_resolved_by_its_tool(self, finder: ToolFinder, library: Library) -> None:
        said: list[str] = []
        resolver = over(finder, library, said=said.append)
        pairs = await resolver.follow(WROTE, ["gaiman", "austen"])
        assert {(source, book.id) for source, book in pairs} == wrote(library, ["gaiman", "austen"])
        assert {book.fields["title"] for _, book in pairs} == {"Good Omens", "Coraline", "Emma", "Persuasion"}
        assert library.calls == [("list_books_of_authors", ["gaiman", "austen"])]
        back = await resolver.follow(BY, ["b3", "b1"])
        assert [(source, author.id) for source, author in back] == [
            ("b3", "pratchett"),
            ("b3", "gaiman"),
            ("b1", "austen"),
        ]
        assert re.match(
            r"Book written_by Author \(backward\): rank \d for “list the books that the given authors wrote”; ", said[0]
        )
        assert "books[].id is the output that was asked for" in said[0]
        assert len(resolver.choices) == 2 and all(choice.snapshot_id for choice in resolver.choices)

    async def test_entities_are_found_page_after_page(self, finder: ToolFinder, library: Library) -> None:
        resolver = over(finder, library)
        assert ids(await resolver.find("Book", [])) == ["b1", "b2", "b3", "b4", "b5"]
        assert [call for call in library.calls if call[0] == "find_books"] == [
            ("find_books", (None, 3, 0)),
            ("find_books", (None, 3, 3)),
        ]
        assert ids(await resolver.find("Book", [where("title", "contains", "Good")])) == ["b3"]


class TestCalls:
    async def test_a_search_that_demands_words_is_called_with_those_of_a_filter_or_of_the_domain(
        self, documents: dict[str, Tool], library: Library
    ) -> None:
        tool = documents["find_authors"]
        schema = {**tool.input_schema, "required": ["query"]}
        finder = Ranked([replace(tool, input_schema_json=json.dumps(schema))])
        silent = over(finder, library)
        with pytest.raises(ToolCallError, match=r"find_authors: query: this required argument .* missing"):
            await silent.find("Author", [])
        assert library.calls == []
        assert ids(await silent.find("Author", [where("name", "=", "Jane")])) == ["jane"]
        domain = DOMAIN.model_dump()
        domain["types"]["Author"]["lookup"]["every"] = {"query": "a"}
        telling = ToolResolver(Domain.model_validate(domain), finder, PythonInvoker([], objects={MODULE: library}))
        assert ids(await telling.find("Author", [])) == list(STOCK.authors)
        assert [words for _, words in library.calls] == ["Jane", "a"]

    @settings(max_examples=40)
    @given(
        st.dictionaries(
            st.sampled_from("abcdefgh"), st.frozensets(st.sampled_from("stuvwxyz"), max_size=4), max_size=8
        ),
        st.integers(1, 5),
        st.data(),
    )
    async def test_any_library_any_chunk(
        self, documents: dict[str, Tool], stock: dict[str, frozenset[str]], chunk: int, data: st.DataObject
    ) -> None:
        library = Library(
            {name: name for name in "stuvwxyz"}, {book: ("t", "2000-01-01", tuple(by)) for book, by in stock.items()}
        )
        step, tool = data.draw(
            st.sampled_from([(WROTE, "list_books_of_authors"), (ONE_BY_ONE, "list_books_of_author")])
        )
        sources = data.draw(st.lists(st.sampled_from("stuvwxyz"), unique=True))
        pairs = await over(Ranked([documents[tool]]), library, chunk=chunk).follow(step, sources)
        assert len(pairs) == len(set((source, book.id) for source, book in pairs))
        assert {(source, book.id) for source, book in pairs} == wrote(library, sources)
        assert len(library.calls) == (-(-len(sources) // chunk) if step is WROTE else len(sources))


class Refusing(PythonInvoker):
    """Answers 404 for some identifiers, as an API over HTTP does."""

    def __init__(self, library: Library, unknown: set[str]) -> None:
        super().__init__([], objects={MODULE: library})
        self.unknown = unknown

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        if self.unknown & set(arguments.values()):
            return ToolAnswer(ok=False, status="404 Not Found", body={"code": "NOT_FOUND"})
        return await super().invoke(tool, arguments)


class TestSourcesWithoutAnEdge:
    async def test_a_404_for_one_of_several_sources_is_no_edge(
        self, documents: dict[str, Tool], library: Library
    ) -> None:
        finder = Ranked([documents["list_books_of_author"]])
        resolver = over(finder, library, Refusing(library, {"austen"}))
        pairs = await resolver.follow(ONE_BY_ONE, ["austen", "gaiman", "pratchett"])
        assert {(source, book.id) for source, book in pairs} == wrote(library, ["gaiman", "pratchett"])
        assert await resolver.follow(ONE_BY_ONE, ["austen"]) == []  # its tool is known to answer


class TestFailures:
    @pytest.mark.parametrize(
        "spoil",
        [
            lambda answer: {"items": answer["books"]},
            lambda answer: {"books": "none"},
            lambda answer: {"books": [{"key": "b3"}]},
            lambda answer: "an apology",
            lambda answer: {"books": [{**book, "source_id": "nobody"} for book in answer["books"]]},
        ],
    )
    async def test_an_answer_of_another_shape_is_a_failure(
        self, documents: dict[str, Tool], library: Library, spoil: Callable[[dict[str, list[dict[str, str]]]], object]
    ) -> None:
        good = library.list_books_of_authors
        library.list_books_of_authors = lambda author_ids: spoil(good(author_ids))  # type: ignore
        with pytest.raises(ToolCallError, match="list_books_of_authors: "):
            await over(Ranked([documents["list_books_of_authors"]]), library).follow(WROTE, ["gaiman", "austen"])

    async def test_a_tool_that_may_write_is_never_called(self, documents: dict[str, Tool], library: Library) -> None:
        resolver = over(Ranked([documents["delete_books"]]), library)
        with pytest.raises(ToolCallError, match="delete_books may change something"):
            await resolver.follow(BY, ["b1"])
        assert library.calls == []

    async def test_no_tool_fits(self, documents: dict[str, Tool], library: Library) -> None:
        with pytest.raises(ToolCallError, match=r"no input of \S+/find_authors is author_ids; it has query"):
            await over(Ranked([documents["find_authors"]]), library).follow(WROTE, ["gaiman"])
        with pytest.raises(ToolCallError, match="the service returned none"):
            await over(Ranked([]), library).follow(WROTE, ["gaiman"])

    async def test_a_limit_of_the_run_ends_it(self, documents: dict[str, Tool], library: Library) -> None:
        finder = Ranked([documents["list_books_of_authors"]])
        invoker = CallPipeline(PythonInvoker([], objects={MODULE: library}), limits=CallLimits(calls=1))
        resolver = over(finder, library, invoker)
        await resolver.follow(WROTE, ["gaiman"])
        with pytest.raises(BudgetExceededError, match="1 calls"):
            await resolver.follow(WROTE, ["austen"])
