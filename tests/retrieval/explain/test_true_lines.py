"""Lines that misled a reader of real catalogues: each kind with requests that must not get it any more."""

import pytest

from inference import HashingEncoder
from ontology import Ontology, Parameter, Tool
from ontology.tool import CONTEXT_PARAMETERS
from retrieval.engine import Engine
from retrieval.query.request import Request
from retrieval.snapshot.reader import open_snapshot
from tests.retrieval.conftest import content_of, published

INPUTS = {"pull_number": "integer", "issue_number": "integer"}


def _tool(name: str, description: str, *inputs: str, context: tuple[str, ...] = ()) -> Tool:
    return Tool(
        id=f"github/{name}",
        name=name,
        description=description,
        parameters=tuple(Parameter(name=each, type=INPUTS.get(each, "string"), required=True) for each in inputs),
        metadata={"namespace": "github", **({CONTEXT_PARAMETERS: list(context)} if context else {})},
    )


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory, ontology: Ontology) -> Engine:
    folder = tmp_path_factory.mktemp("github")
    tools = [
        _tool("merge_pull_request", "Merge a pull request.", "owner", "repo", "pull_number", context=("owner",)),
        _tool("list_issues", "List the issues of a repository.", "owner", "repo"),
        _tool("close_issue", "Close an issue.", "owner", "repo", "issue_number"),
        _tool("search_people", "Search for people by their name or career.", "query"),
        _tool("clone_repository", "Clone a repository.", "repo"),
        _tool("delete_pod", "Delete a pod.", "name", "namespace"),
        _tool("add_to_playlist", "Add a song to a playlist.", "playlist_id"),
        _tool("give_award", "Give an award to an employee at a level of his career.", "award_id"),
    ]
    published(folder, content_of(tools, ontology))
    return Engine(open_snapshot(folder), HashingEncoder())


@pytest.mark.parametrize(
    ("query", "tool", "said", "unsaid"),
    [
        # A value beside its noun is not taken from elsewhere; whatever else a tool takes is said, also where words give it.
        ("merge pull request 4217", "merge_pull_request", "pull_number is 4217", "takes pull_number"),
        ("merge PR 42 of acme/webshop", "merge_pull_request", "repo is acme/webshop; takes pull_number, owner", ""),
        ("search people like Jan", "search_people", "takes query", ""),
        ("add song 4iV5W9uYEdYUVa79 to playlist 37i9dQZF1DXcBWIG", "add_to_playlist", "playlist_id is 37i9dQZF", ""),
        ("clone acme/webshop", "clone_repository", "repo is acme/webshop", "takes"),
        # An input that names the surroundings is taken too.
        ("merge a pull request", "merge_pull_request", "takes repo, pull_number, owner", ""),
        # What is quoted as matching matches.
        ("give him the award that fits his career", "give_award", 'matches "', "that fits"),
        ("list for our Spring Supplier the issues", "list_issues", "", "for our"),
    ],
)
def test_a_line_says_what_is_so(github: Engine, query: str, tool: str, said: str, unsaid: str) -> None:
    request = Request(query=query, k=8, explain=False, explanation=True)
    lines = {each.id: each.explanation for each in github.retriever().retrieve(request).tools}
    line = lines[f"github/{tool}"]
    assert said in line
    assert not unsaid or unsaid not in line
