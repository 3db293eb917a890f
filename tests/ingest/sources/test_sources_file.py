"""The sources file: every fault with its line, values by reference, and what is kept of each source."""

import json
from pathlib import Path

import pytest

from ingest.sources import read_catalog
from ingest.sources.sources_file import check_sources, load_sources
from ontology.errors import SourcesFileError
from ontology.files import write_file
from tests.harness.http_server import Arrived, Loopback, Reply, as_json

API = {
    "openapi": "3.0.0",
    "info": {"title": "Billing API", "version": "1"},
    "paths": {
        f"/{noun}": {
            "get": {"operationId": f"list{noun.title()}", "tags": [tag], "responses": {"200": {"description": "ok"}}}
        }
        for noun, tag in (("invoices", "read"), ("payments", "read"), ("internals", "admin"))
    },
}
FAULTY = """\
sources:
  - name: billing
    location: https://user:S3CRETpass@host/openapi.json
    owner: [finance]
    colour: red
    refresh: soon
  - name: billing
    location: {mcp: [server, --api-key, sk-S3CRETS3CRET]}
    env:
      GITLAB_TOKEN: glpat-S3CRETS3CRET
      LEVEL: debug
      LEVEL: info
      HALF: ${HALF
  - name: "no good"
    location: mcp:server --x
  - location: catalog/*.yaml
    headers: {Authorization: Bearer S3CRETS3CRET}
    include: orders
    namespace:
  - name: keys
    location: https://host/openapi.json?api_key=S3CRETS3CRET1
    headers:
      X-Trace: aB3dE5gH7jK9mN1pQ3sT5
    description: "ask with password=S3CRETS3CRET1"
    aliases: [ok, [bad]]
extra: 1
"""


def write(folder: Path, text: str) -> Path:
    return write_file(folder / "sources.yaml", text)


def test_all_faults_of_a_file_are_reported_at_once_with_line_and_remedy(tmp_path: Path) -> None:
    path = write(tmp_path, FAULTY)
    sources, faults = check_sources(path)
    assert sources is None
    said = [(fault.line, fault.problem) for fault in faults]
    for line, words in (
        (3, "the location holds a secret"),
        (4, "owner must be a text"),
        (5, "unknown key 'colour'"),
        (6, "refresh is gone"),
        (7, "two sources have the name 'billing'"),
        (8, "the location holds a secret"),
        (10, "env.GITLAB_TOKEN looks like a secret"),
        (12, "env has the key 'LEVEL' twice"),
        (13, "env.HALF has a malformed reference"),
        (14, "the name has other characters"),
        (15, "a command must be a list"),
        (16, "has no name"),
        (17, "headers.Authorization looks like a secret"),
        (17, "headers has no use at this location"),
        (18, "include must be a list"),
        (19, "namespace is empty"),
        (21, "the location holds a secret"),
        (23, "headers.X-Trace looks like a secret"),
        (24, "the description looks like a secret"),
        (25, "an item of aliases must be a text"),
        (26, "unknown key 'extra'"),
    ):
        assert any(at == line and words in problem for at, problem in said), (line, words, said)
    assert "S3CRET" not in str(faults)
    with pytest.raises(SourcesFileError, match="line 5") as caught:
        load_sources(path)
    assert "S3CRET" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "sources:\n",
        "sources: []\n",
        "sources: {}\n",
        "sources: [a]\n",
        "sources: [&a [*a]]\n",
        "sources:\n  - <<: {name: a}\n",
    ],
)
def test_an_odd_file_has_faults(tmp_path: Path, text: str) -> None:
    assert check_sources(write(tmp_path, text)).faults


def test_tools_are_selected_and_know_their_source(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "api.json").write_text(json.dumps(API), encoding="utf-8")
    path = write(
        tmp_path,
        """\
sources:
  - name: billing
    location: docs/*.json
    namespace: money
    owner: finance
    description: Invoices and payments.
    aliases: [acme billing, acme]
    include: ["list*", "get*"]
    exclude: ["*Payments", "adm*"]
""",
    )
    catalog = read_catalog([str(path)])
    assert [tool.id for tool in catalog.tools] == ["money/listInvoices"]
    metadata = catalog.tools[0].metadata
    assert (metadata["source"], metadata["owner"]) == ("billing", "finance")
    assert [(report.source, report.left_out) for report in catalog.documents] == [("billing", 2)]
    assert [(record.subject, record.reason) for record in catalog.rejected] == [("source billing", "no-match")]
    (entry,) = catalog.sources
    assert entry.aliases == ("acme billing", "acme")


def test_headers_go_to_the_origin_alone_and_a_file_may_hold_the_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(arrived: Arrived) -> Reply:
        if arrived.target == "/moved":
            return Reply(status=302, headers={"Location": f"{other.url}/openapi.json"})
        return as_json(API)

    served, other = Loopback(answer), Loopback(answer)
    (tmp_path / "key").write_text("S3CRET-in-file\n", encoding="utf-8")
    base = served.url
    path = write(
        tmp_path,
        f"sources:\n  - name: moved\n    location: {base}/moved\n    headers: {{X-Api-Key: {{file: key}}}}\n"
        f"  - name: direct\n    location: '{base}/direct?token=${{DIRECT_TOKEN}}'\n    headers: {{X-Api-Key: {{file: key}}}}\n"
        f"  - name: unset\n    location: {base}/unset\n    headers: {{X-Api-Key: '${{NO_SUCH_VARIABLE}}'}}\n"
        f"  - name: nofile\n    location: {base}/nofile\n    headers: {{X-Api-Key: {{file: nowhere}}}}\n",
    )
    monkeypatch.setenv("DIRECT_TOKEN", "S3CRET-token")
    catalog = read_catalog([str(path)])
    served.stop()
    other.stop()
    asked = [(arrived.target, arrived.headers.get("x-api-key")) for arrived in served.arrived + other.arrived]
    assert ("/moved", "S3CRET-in-file") in asked
    assert ("/direct?token=S3CRET-token", "S3CRET-in-file") in asked
    assert ("/openapi.json", None) in asked
    assert {tool.namespace for tool in catalog.tools} == {"moved", "direct"}
    assert {(record.subject.rpartition("/")[2], record.reason) for record in catalog.rejected} == {
        ("unset", "no-value"),
        ("nofile", "no-value"),
    }
    assert "S3CRET" not in repr(catalog)
