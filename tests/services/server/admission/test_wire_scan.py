"""Fields are counted on the wire, before anything is decoded."""

from __future__ import annotations

from typing import Any

import pytest

from egotools.v1 import egotools_pb2 as pb
from ontology.errors import InvalidArgumentError
from services.server.admission.wire_scan import MAX_FIELDS, check_fields
from tests.harness.waiting import bounded_work

BATCH: Any = pb.RetrieveBatchRequest.DESCRIPTOR
ONE: Any = pb.RetrieveRequest.DESCRIPTOR


def test_an_honest_batch_passes() -> None:
    request = pb.RetrieveRequest(
        query="x" * 20_000,
        k=1_000,
        filters={f"key {number}": pb.StringList(values=["a", "b"]) for number in range(32)},
        done=["tool"] * 100,
        have={"customer_id": "7"},
    )
    check_fields(pb.RetrieveBatchRequest(requests=[request] * 64).SerializeToString(), BATCH, {"requests": 64})


def test_a_request_with_every_limit_reached_passes() -> None:
    request = pb.RetrieveRequest(
        query="x",
        filters={f"key {number}": pb.StringList(values=["v"] * 256) for number in range(32)},
        done=["tool"] * 1_000,
        have={f"name {number}": "7" for number in range(64)},
    )
    check_fields(request.SerializeToString(), ONE, {})


@pytest.mark.parametrize(
    ("raw", "kind", "subject"),
    [
        (b"\x0a\x00" * 2_000_000, BATCH, "requests"),
        (b"\x52\x00" * 2_000_000, ONE, "done"),
        (b"\x1a\x00" * 2_000_000, ONE, "filters"),
        (b"\xc0\x3e\x01" * 1_000_000, ONE, "request"),
    ],
    ids=["requests", "done", "filters", "unknown"],
)
def test_millions_of_empty_values_are_refused_at_once(raw: bytes, kind: Any, subject: str) -> None:
    with bounded_work(0.5), pytest.raises(InvalidArgumentError) as caught:
        check_fields(raw, kind, {"requests": 64} if kind is BATCH else {})
    assert caught.value.subject == subject


def test_values_deep_in_a_batch_are_counted_too() -> None:
    request = pb.RetrieveRequest(filters={"key": pb.StringList(values=["v"] * (MAX_FIELDS + 1))})
    raw = pb.RetrieveBatchRequest(requests=[request]).SerializeToString()
    with pytest.raises(InvalidArgumentError) as caught:
        check_fields(raw, BATCH, {"requests": 64})
    assert caught.value.subject == "requests"


@pytest.mark.parametrize("raw", [b"", b"\xff" * 100, b"\x0a\xff\xff\xff\xff\x0f", b"\x0a", b"\x0b\x0c", b"\x09\x01"])
def test_what_is_no_message_is_left_to_the_decoder(raw: bytes) -> None:
    check_fields(raw, BATCH, {"requests": 64})
