"""AWS service models: small ones, broken ones, and those that the installed botocore ships."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest.sources.aws.source import AwsSource
from ingest.sources.document import Document
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError, MissingExtraError
from tests.ingest.sources import read_file

MODEL: dict[str, Any] = yaml.safe_load("""
version: '2.0'
metadata: {serviceFullName: Parcel Service, serviceId: Parcels, endpointPrefix: parcels}
operations:
  SendParcel:
    name: SendParcel
    http: {method: PUT, requestUri: '/parcels/{ParcelId}'}
    input: {shape: SendRequest}
    output: {shape: SendResult}
    documentation: <p>Sends a <code>parcel</code>.</p><note><p>Weights &lt; 5&nbsp;kg.</p></note>
  ListParcels: {name: ListParcels, output: {shape: Parcels}, deprecated: true}
shapes:
  Id: {type: string, documentation: <p>The id.</p>}
  Kind: {type: string, enum: [letter, box]}
  When: {type: timestamp}
  SendRequest:
    type: structure
    required: [ParcelId]
    members:
      ParcelId: {shape: Id, location: uri, locationName: ParcelId}
      Kind: {shape: Kind, location: querystring, locationName: kind}
      Parts: {shape: Nodes}
      Labels: {shape: LabelMap}
  Node: {type: structure, required: [Id], members: {Id: {shape: Id}, Inner: {shape: Nodes}}}
  Nodes: {type: list, member: {shape: Node}}
  LabelMap: {type: map, key: {shape: Id}, value: {shape: Node}}
  SendResult: {type: structure, required: [SentAt], members: {SentAt: {shape: When}}}
  Parcels: {type: structure, members: {Kinds: {shape: Kinds}}}
  Kinds: {type: list, member: {shape: Kind}}
""")


read = partial(read_file, AwsSource())


@pytest.mark.parametrize("name", ["service-2.json", "service-2.json.gz"])
def test_operations_become_tools(tmp_path: Path, name: str) -> None:
    tools, rejected = read(tmp_path / name, MODEL)
    assert rejected == []
    send = tools["SendParcel"]
    assert send.description == "Sends a parcel. Weights < 5 kg."
    assert send.title == "Send parcel"
    assert send.metadata["service"] == "Parcel Service"
    assert (send.metadata["method"], send.metadata["path"]) == ("PUT", "/parcels/{ParcelId}")
    assert "deprecated" not in send.metadata
    assert [(p.name, p.type, p.required, p.location) for p in send.parameters] == [
        ("ParcelId", "string", True, "path"),
        ("Kind", "string", False, "query"),
        ("Parts", "array", False, "body"),
        ("Parts[].Id", "string", False, "body"),
        ("Parts[].Inner", "array", False, "body"),  # a node inside a node is named and not opened
        ("Labels", "object", False, "body"),
        ("Labels.*.Id", "string", False, "body"),
        ("Labels.*.Inner", "array", False, "body"),
    ]
    assert send.parameters[1].enum == ("letter", "box")
    assert [(o.name, o.format, o.required, o.location) for o in send.returns] == [("SentAt", "date-time", False, "")]
    listed = tools["ListParcels"]
    assert listed.parameters == ()
    assert listed.metadata["deprecated"] is True
    assert listed.returns[0].enum == ("letter", "box")


@pytest.mark.parametrize(("missing", "kept"), [("When", ["SendParcel", "ListParcels"]), ("LabelMap", ["ListParcels"])])
def test_a_shape_defined_nowhere_costs_its_operation_or_its_answer_only(
    tmp_path: Path, missing: str, kept: list[str]
) -> None:
    shapes = {name: shape for name, shape in MODEL["shapes"].items() if name != missing}
    tools, rejected = read(tmp_path / "m.json", {**MODEL, "shapes": shapes})
    assert list(tools) == kept
    assert [(r.subject, r.reason) for r in rejected] == [("m.json#SendParcel", "dangling-shape")]
    assert repr(missing) in rejected[0].detail


def test_malformed_operations_are_refused(tmp_path: Path) -> None:
    operations = {**MODEL["operations"], "A": 1, "B": {"input": {"shape": "Odd"}}}
    tools, rejected = read(
        tmp_path / "m.json",
        {**MODEL, "operations": operations, "shapes": {**MODEL["shapes"], "Odd": {"type": "structure", "required": 3}}},
    )
    assert {"SendParcel", "ListParcels"} <= set(tools)
    assert "m.json#A" in {r.subject for r in rejected}
    assert {r.reason for r in rejected} == {"wrong-type"}


@pytest.fixture
def botocore() -> None:
    pytest.importorskip("botocore", reason="the extra aws is not installed")


@pytest.mark.slow
@pytest.mark.usefixtures("botocore")
def test_installed_services_load() -> None:
    from botocore.loaders import Loader

    items = [
        item
        for service in Loader().list_available_services("service-2")[::20]  # all are 10,000 tools
        for item in AwsSource().read(Document(f"aws:{service}"))
    ]
    assert len(items) > 300
    assert [item for item in items if isinstance(item, RejectedRecord)] == []


@pytest.mark.usefixtures("botocore")
def test_an_unknown_service_is_refused() -> None:
    with pytest.raises(DocumentError, match="no service 'nosuch'"):
        list(AwsSource().read(Document("aws:nosuch")))


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    monkeypatch.setitem(sys.modules, "botocore.loaders", None)
    with pytest.raises(MissingExtraError, match=r"requirements/aws.txt"):
        list(AwsSource().read(Document("aws:s3")))
