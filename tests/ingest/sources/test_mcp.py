"""MCP: saved lists in every wrapping, and real servers that the tests start."""

import gzip
import json
import logging
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from egotools import McpCall, build_request
from ingest.sources import read_catalog, source_for
from ingest.sources.document import Document
from ingest.sources.mcp.source import McpSource, list_tools
from ontology.errors import CatalogError, DocumentError
from tests.conftest import ROOT
from tests.harness.http_server import Loopback, Reply
from tests.harness.waiting import wait_until
from tests.ingest.sources import read_file, split

FIND: dict[str, Any] = {
    "name": "find_orders",
    "title": "Find orders",
    "description": "Finds orders of a customer.",
    "inputSchema": {
        "type": "object",
        "properties": {"customer_id": {"type": "string", "format": "uuid"}, "filter": {"$ref": "#/$defs/Filter"}},
        "required": ["customer_id"],
        "$defs": {"Filter": {"type": "object", "properties": {"state": {"enum": ["open", "closed"]}}}},
    },
    "outputSchema": {
        "type": "object",
        "properties": {
            "orders": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}}
        },
    },
    "annotations": {"title": "Search", "readOnlyHint": True, "destructiveHint": "no"},
}
PING: dict[str, Any] = {"name": "ping", "inputSchema": {"type": "object"}}


read = partial(read_file, McpSource())


ANSWERS: list[Any] = [
    {"jsonrpc": "2.0", "id": 1, "result": {"tools": [FIND], "nextCursor": "2"}},
    {"jsonrpc": "2.0", "id": 2, "result": {"tools": [PING]}},
]
WRAPPINGS: dict[str, Any] = {
    "tools": {"tools": [FIND, PING]},
    "json-rpc": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [FIND, PING]}},
    "list": [FIND, PING],
    "batch": ANSWERS,
    "lines": "\n".join(map(json.dumps, [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, *ANSWERS])),
}


@pytest.mark.parametrize("name", WRAPPINGS)
def test_a_saved_list_in_every_wrapping(tmp_path: Path, name: str) -> None:
    tools, rejected = read(tmp_path / ("pages.jsonl" if name == "lines" else "saved.json"), WRAPPINGS[name])
    assert rejected == []
    assert list(tools) == ["find_orders", "ping"]
    find = tools[FIND["name"]]
    assert [(p.name, p.required, p.enum) for p in find.parameters] == [
        ("customer_id", True, ()),
        ("filter", False, ()),
        ("filter.state", False, ("open", "closed")),
    ]
    assert [output.name for output in find.returns] == ["orders", "orders[].id"]
    assert find.title == "Find orders"
    assert find.metadata["read_only"] is True
    assert "destructive" not in find.metadata  # what is no boolean says nothing
    assert tools["ping"].parameters == ()


@pytest.mark.parametrize("key", ["anyOf", "oneOf", "allOf", "then", "dependentSchemas"])
def test_inputs_of_parts_and_alternatives_are_taken_by_a_call(tmp_path: Path, key: str) -> None:
    parts = [{"properties": {"kind": {"const": kind}, kind: {"type": "string"}}} for kind in ("s3", "web")]
    combined: Any = parts[1] if key == "then" else {"folder": parts[1]} if key == "dependentSchemas" else parts
    schema = {"type": "object", "properties": {"folder": {"type": "string"}}, key: combined}
    tool = read(tmp_path / "saved.json", {"tools": [{"name": "put", "inputSchema": schema}]})[0]["put"]
    assert tool.call is not None
    arguments = {"folder": "f", "kind": "s3" if key == "allOf" else "web", "web": "w"}
    made = build_request(tool.call, arguments, schema=schema)
    assert isinstance(made, McpCall) and made.arguments == arguments
    assert {"folder", "kind", "web"} <= {parameter.name for parameter in tool.parameters}


def test_a_bad_tool_or_line_is_refused_and_stops_nothing(tmp_path: Path) -> None:
    dangling = {"name": "lost", "inputSchema": {"properties": {"a": {"$ref": "#/$defs/Gone"}}}}
    kept = [
        {**PING, "name": name, "outputSchema": schema} for name, schema in (("a", []), ("b", dangling["inputSchema"]))
    ]
    rows = [{**PING, "name": " "}, 7, {"name": "odd", "inputSchema": []}, dangling, PING, *kept]
    tools, rejected = read(tmp_path / "saved.json", {"tools": rows})
    assert list(tools) == ["ping", "a", "b"]  # an answer that cannot be read costs no tool
    assert [(r.subject, r.reason) for r in rejected] == [
        ("saved.json#1", "no-name"),
        ("saved.json#2", "wrong-type"),
        ("saved.json#odd", "wrong-type"),
        ("saved.json#lost", "dangling-ref"),
        ("saved.json#a", "wrong-type"),
        ("saved.json#b", "dangling-ref"),
    ]
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no such method"}}
    tools, rejected = read(tmp_path / "l.jsonl", "\n".join([json.dumps(error), '{"half', "3", json.dumps(PING)]))
    assert list(tools) == ["ping"]
    assert [(r.subject, r.reason) for r in rejected] == [
        ("l.jsonl:1", "rpc-error"),
        ("l.jsonl:2", "invalid-json"),
        ("l.jsonl:3", "wrong-type"),
    ]
    assert "no such method" in rejected[0].detail


SERVER = '''
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("warehouse")


@server.tool(title="Find stock", annotations=ToolAnnotations(read_only_hint=True))
def find_stock(material: str, plant: str = "") -> dict[str, int]:
    """Says how much of a material a plant has."""
    return {plant: len(material)}


@server.tool()
def book(material: str, quantity: int) -> str:
    """Books a quantity."""
    return f"{material} {quantity}"


server.run()
'''

PAGED = f"""
import sys

sys.path.insert(0, {str(ROOT)!r})
from tests.harness.plain_mcp import serve


def pages(params):
    at = int(params.get("cursor") or 0)
    page = {{"tools": [{{"name": f"tool_{{at}}", "inputSchema": {{"type": "object"}}}}]}}
    following = NEXT
    return page if following is None else {{**page, "nextCursor": following}}


serve("pages", pages, lambda _: {{}})
"""


def command(script: Path, text: str) -> str:
    script.write_text(text, encoding="utf-8")
    return "mcp:" + shlex.join([sys.executable, str(script)])


@pytest.fixture
def sdk() -> None:
    pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed")


@pytest.mark.usefixtures("sdk")
def test_a_live_server_over_stdio(tmp_path: Path) -> None:
    document = Document(command(tmp_path / "server.py", SERVER))
    assert isinstance(source_for(document), McpSource)
    tools, rejected = split(McpSource().read(document))
    assert rejected == []
    assert list(tools) == ["find_stock", "book"]
    find = tools["find_stock"]
    assert [(p.name, p.type, p.required) for p in find.parameters] == [
        ("material", "string", True),
        ("plant", "string", False),
    ]
    assert find.title == "Find stock"
    assert find.description == "Says how much of a material a plant has."
    assert (find.metadata["service"], find.metadata["read_only"]) == ("warehouse", True)
    assert [output.name for output in tools["book"].returns] == ["result"]


@pytest.mark.usefixtures("sdk")
def test_an_answer_that_is_compressed_is_not_read() -> None:
    """A few bytes that would become 20 MB."""
    small = gzip.compress(gzip.compress(bytes(20_000_000)))
    with Loopback(lambda arrived: Reply(body=small, headers={"Content-Encoding": "gzip, gzip"})) as server:
        with pytest.raises(DocumentError, match="compresses its answers"):
            list(McpSource().read(Document(f"mcp+{server.url}/mcp")))
    assert {arrived.headers["accept-encoding"] for arrived in server.arrived} == {"identity"}


@pytest.mark.usefixtures("sdk")
def test_a_server_of_resources_alone_has_no_tools_and_no_fault(tmp_path: Path) -> None:
    text = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.harness import plain_mcp; plain_mcp.serve_resources_only()"
    assert list_tools(command(tmp_path / "texts.py", text)) == ("texts", [])


@pytest.mark.usefixtures("sdk")
def test_a_server_whose_pages_go_in_circles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="has no end"):
        list_tools(command(tmp_path / "paged.py", PAGED.replace("NEXT", '"0"')))


@pytest.mark.usefixtures("sdk")
def test_a_server_that_dies_is_refused_with_its_last_words(tmp_path: Path) -> None:
    address = command(tmp_path / "dies.py", "raise SystemExit('the key WAREHOUSE_KEY is missing')")
    with pytest.raises(DocumentError, match="it wrote: the key WAREHOUSE_KEY is missing"):
        list(McpSource().read(Document(address)))


@pytest.mark.usefixtures("sdk")
def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    address = command(tmp_path / "mute.py", "import sys; sys.stdin.read()")
    with pytest.raises(DocumentError, match=r"within 0\.5 s"):
        list_tools(address, timeout_s=0.5)


@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("mcp:no-such-command-anywhere --x", "no such command"),
        ("mcp:", "no command is named"),
        ("mcp:'half", "cannot be read"),
        ("mcp+http://127.0.0.1:9/mcp", "cannot list its tools"),
    ],
)
def test_a_server_that_is_not_there_is_refused(address: str, said: str) -> None:
    with pytest.raises(DocumentError, match=said) as caught:
        list(McpSource().read(Document(address)))
    assert caught.value.subject == address


SECRET = "S3CRET"


@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize(
    "address",
    [
        f"mcp+http://u:{SECRET}@127.0.0.1:1/x?key={SECRET}#{SECRET}",
        f"mcp+http://u:{SECRET}@127.0.0.1:99999/x?key={SECRET}",
        f"mcp:env TOKEN={SECRET} no-such-command-anywhere --api-key sk-{SECRET}",
        f"mcp:{sys.executable} -c 'import sys; sys.exit(sys.argv[-1])' --token {SECRET}",
    ],
)
def test_the_secrets_of_a_live_address_are_shown_and_kept_nowhere(
    address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "tools.json").write_text(json.dumps([{"name": "a", "inputSchema": {}}]), encoding="utf-8")
    shown: list[str] = []
    with caplog.at_level(logging.INFO):
        catalog = read_catalog([str(tmp_path / "tools.json"), address], progress=shown.append)
    assert len(catalog.rejected) == 1
    assert SECRET not in repr(catalog) + repr(shown) + caplog.text
    with pytest.raises(CatalogError) as caught:
        read_catalog([address])
    assert SECRET not in str(caught.value)


FLOODS = """
import pathlib, subprocess, sys
held = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)  # its end of the answers ends the wait for them
pathlib.Path("pid").write_text(str(held.pid))
for _ in range(400):
    sys.stderr.write("x" * 100_000 + "\\n")
sys.stderr.write("the last words\\n")
sys.stderr.flush()
"""


@pytest.mark.usefixtures("sdk")
def test_the_error_output_of_a_server_is_bounded_and_its_processes_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DocumentError, match="it wrote: the last words"):
        list_tools(command(tmp_path / "floods.py", FLOODS))
    pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
    stat = Path(f"/proc/{pid}/stat")
    wait_until(lambda: not stat.exists() or stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z")


@pytest.mark.usefixtures("sdk")
def test_a_server_that_answers_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("egotools.calling.mcp_session.MAX_ANSWER_BYTES", 1_000_000)
    script = "import sys\nwhile True: sys.stdout.write('x' * 100_000)\n"
    with pytest.raises(DocumentError, match="the MCP server wrote more than"):
        list_tools(command(tmp_path / "endless.py", script))
