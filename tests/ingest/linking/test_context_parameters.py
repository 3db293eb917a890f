"""Context parameters: found by frequency and place in the path, and never supplied by another tool."""

from __future__ import annotations

from ingest.linking.derive import derive_links
from ontology import Parameter, Tool, load_ontology

ONTOLOGY = load_ontology()
KINDS = tuple(
    "disk network router snapshot image firewall gateway tunnel subnet license reservation commitment".split()
)


def get(path: str, *outputs: str, namespace: str = "compute", required: tuple[str, ...] = ()) -> Tool:
    places = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return Tool(
        id=f"{namespace}/GET {path}",
        name=f"GET {path}",
        parameters=tuple(Parameter(name=name, required=True, location="path") for name in (*places, *required)),
        returns=tuple(Parameter(name=name) for name in outputs),
        metadata={"path": path, "method": "GET", "namespace": namespace},
    )


def catalogue() -> list[Tool]:
    tools = [get("/projects", "items[].id"), get("/projects/{project}", "id")]
    for kind in KINDS:
        tools.append(get(f"/projects/{{project}}/{kind}s", "items[].id"))
        tools.append(get(f"/projects/{{project}}/{kind}s/{{{kind}}}", "id"))
    return tools


def test_what_stands_first_in_most_paths_is_context() -> None:
    links = derive_links(catalogue(), ONTOLOGY)
    assert links.context["compute/GET /projects/{project}/disks/{disk}"] == ("project",)
    # What a tool is about is not its surroundings.
    assert "compute/GET /projects/{project}" not in links.context


def test_no_tool_supplies_context_and_the_rest_is_supplied() -> None:
    edges = derive_links(catalogue(), ONTOLOGY).edges
    filled = {edge.parameter for edge in edges if edge.target.count("/") > 2 or edge.source.count("/") > 2}
    assert "disk" in filled
    assert not [edge for edge in edges if edge.parameter == "project" and edge.target.count("/") > 3]


def test_what_many_tools_are_about_is_no_context() -> None:
    verbs = ("runs", "tasks", "logs", "links", "notes", "tries")
    tools = [get("/dags", "items[].dag_id"), *(get(f"/dags/{{dag_id}}/{verb}", "x") for verb in verbs)]
    tools += [get("/dags/{dag_id}", "x"), get("/pools", "x"), get("/roles", "x"), get("/users", "x")]
    links = derive_links(tools, ONTOLOGY)
    assert links.context == {}
    assert ("compute/GET /dags", "dag_id") in {(e.source, e.parameter) for e in links.edges}


def test_a_small_catalogue_has_none() -> None:
    assert derive_links([get("/projects/{project}/disks", "items[].id")], ONTOLOGY).context == {}


def test_what_stands_late_in_many_paths_is_no_context() -> None:
    for late, expected in ((1, True), (6, False)):
        tools = catalogue()
        deep = "/folders/{folder}/groups/{group}/projects/{project}"
        tools += [get(f"{deep}/{kind}s/{{{kind}}}/parts", "x") for kind in KINDS[:late]]
        links = derive_links(tools, ONTOLOGY)
        assert ("compute/GET /projects/{project}/disks" in links.context) == expected, late
