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


def _tool(
    name: str,
    description: str,
    *inputs: str,
    context: tuple[str, ...] = (),
    path: str = "",
    optional: tuple[str, ...] = (),
) -> Tool:
    return Tool(
        id=f"github/{name}",
        name=name,
        description=description,
        parameters=tuple(
            Parameter(name=each, type=INPUTS.get(each, "string"), required=each in inputs)
            for each in (*inputs, *optional)
        ),
        metadata={
            "namespace": "github",
            **({CONTEXT_PARAMETERS: list(context)} if context else {}),
            **({"path": path} if path else {}),
        },
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
        _tool("get_attachment", "Get the facts of an attachment.", "id", path="/attachment/{id}"),
        _tool("cancel_subscription", "Cancel a plan.", "exposed_id", path="/subscriptions/{exposed_id}"),
        _tool("get_hosted_zone", "Get a zone.", "Id", path="/hostedzone/{Id}"),
        _tool("rename_branch", "Rename a branch.", "owner", "repo", path="/repos/{owner}/{repo}/branch"),
        _tool("create_filter", "Create a filter.", "name", optional=("transition.id",)),
        _tool("find_dashboards", "Find each dashboard.", optional=("dashboardName",)),
        _tool("move_ticket", "Move a ticket.", "ticketIdOrKey", optional=("watchers[].ticket_id", "radar.session")),
        _tool("add_record", "Add a record.", "domain_name", "forwarding[].port"),
        _tool("give_award", "Give an award to an employee at a level of his career.", "award_id"),
    ]
    published(folder, content_of(tools, ontology))
    return Engine(open_snapshot(folder), HashingEncoder())


@pytest.mark.parametrize(
    ("query", "tool", "said", "unsaid"),
    [
        # A value beside its noun is not taken from elsewhere; whatever else a tool takes is said, also where words give it.
        ("merge pull request 4217", "merge_pull_request", "pull_number is 4217", "takes pull_number"),
        ("merge PR 42 of acme/webshop", "merge_pull_request", "repo is webshop; owner is acme; takes pull_number", ""),
        ("rename the branch in acme/webshop", "rename_branch", "owner is acme", "takes"),
        ("search people like Jan", "search_people", "takes query", ""),
        ("add song 4iV5W9uYEdYUVa79 to playlist 37i9dQZF1DXcBWIG", "add_to_playlist", "playlist_id is 37i9dQZF", ""),
        ("clone acme/webshop", "clone_repository", "repo is acme/webshop", "takes"),
        # An input that names the surroundings is taken too.
        ("merge a pull request", "merge_pull_request", "takes repo, pull_number, owner", ""),
        # The noun of an input stands in the path, whatever the name of the input.
        ("get attachment 10042", "get_attachment", "id is 10042", "takes"),
        ("cancel the subscription sub_1MowQVLkdIwHu7ixe", "cancel_subscription", "exposed_id is sub_1Mow", "takes"),
        ("get the hosted zone Z1D633PJN98FT9", "get_hosted_zone", "Id is Z1D633PJN98FT9", "takes"),
        # What the noun names has a name; no number is one.
        ('create a filter named "My open bugs"', "create_filter", "name is My open bugs", "transition"),
        ("find dashboard 10012", "find_dashboards", "", "is 10012"),
        ("add a record to the domain acme.com", "add_record", "domain_name is acme.com; takes forwarding.port", ""),
        # An identifier of one digit is no word; a noun before a preposition is that of another thing.
        ("move ticket big_one_8", "move_ticket", "ticketIdOrKey is big_one_8", "takes"),
        ("move ticket WEB-8", "move_ticket", "ticketIdOrKey is WEB-8", "takes"),
        ("move after the session for ticket 5512", "move_ticket", "ticketIdOrKey is 5512", "session is"),
        # What is quoted as matching matches.
        ("move the get-rich ticket", "move_ticket", 'matches "', "get-rich"),
        ("issues: close issue of an issue", "close_issue", 'matches "issues close"', ""),
        ("give him the award that fits his career", "give_award", 'matches "', "that fits"),
        ("list for our Spring Supplier the issues", "list_issues", "", "for our"),
    ],
)
def test_a_line_says_what_is_so(github: Engine, query: str, tool: str, said: str, unsaid: str) -> None:
    request = Request(query=query, k=20, explain=False, explanation=True)
    lines = {each.id: each.explanation for each in github.retriever().retrieve(request).tools}
    line = lines[f"github/{tool}"]
    assert said in line
    assert not unsaid or unsaid not in line


def test_a_tool_that_shares_no_word_is_not_said_to_be_near(github: Engine) -> None:
    request = Request(query="merge a pull request", k=20, explain=False, explanation=True)
    lines = {each.id: each.explanation for each in github.retriever().retrieve(request).tools}
    assert lines["github/delete_pod"] == "no word in common; takes name, namespace"
