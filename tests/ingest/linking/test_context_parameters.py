"""Context parameters: found by frequency and place in the path, and never supplied by another tool."""

from dataclasses import replace

from ingest.linking.edges import derive_links
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


def test_an_input_of_the_path_is_context_where_the_body_has_one_of_its_name() -> None:
    tool = get("/projects/{project}/disks/{disk}:copy", "id")
    body = Parameter(name="project", description="The name to show", enum=("a", "b"), location="body")
    tool = replace(tool, id="compute/copy", parameters=(*tool.parameters, body))
    assert "project" in derive_links([*catalogue(), tool], ONTOLOGY).context["compute/copy"]
