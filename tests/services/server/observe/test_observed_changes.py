"""Publications and denials of a real server: each is audited, counted, and refused where it cannot be audited."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest

from egotools import ClientError, SnapshotLostError
from egotools.v1 import egotools_pb2 as pb
from egotools.v1 import egotools_pb2_grpc as pb_grpc
from retrieval.snapshot.history import history
from services.server.catalogs import CatalogStore
from services.server.server import Server
from tests.harness.editions import EditionStore
from tests.harness.engines import serving, small_settings
from tests.harness.issuers import Authority, guarded_by, write_pair
from tests.harness.servers import admin_call, loaded
from tests.services.server.observe.scraping import code_of, fetch, samples, scrape


@asynccontextmanager
async def publishing(store: EditionStore, audit: Path, **settings: object) -> AsyncIterator[Server]:
    given = {"admin_port": 0, "watch_s": 0.0, "metrics_port": 0, "audit_log": audit, **settings}
    async with loaded(Server(small_settings(**given), {"": CatalogStore(path=store.path)})) as server:
        yield server


def entries(path: Path) -> list[tuple[str, str, str, str]]:
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [(entry["action"], entry["actor"], entry["subject"], entry["outcome"]) for entry in found]


async def test_a_publication_is_audited_before_and_after_and_counted(built: EditionStore, tmp_path: Path) -> None:
    store, audit = built.copy(tmp_path / "store"), tmp_path / "audit.jsonl"
    alpha, beta = store.ids["alpha"], store.ids["beta"]
    async with publishing(store, audit) as server:
        await admin_call(server, "Publish", snapshot_id=beta)
        await admin_call(server, "Rollback")
        store.damage("beta")
        with pytest.raises(SnapshotLostError):
            await admin_call(server, "Publish", snapshot_id=beta)
        assert server.metrics_port
        found = await scrape(server.metrics_port)
    changes = [entry for entry in entries(audit) if entry[0] != "swap"]
    assert changes == [
        ("publish", "", beta, "begun"),
        ("publish", "", beta, "done"),
        ("rollback", "", "", "begun"),
        ("rollback", "", alpha, "done"),
        ("publish", "", beta, "begun"),
        ("publish", "", beta, "DATA_LOSS"),
    ]
    swaps = [entry for entry in entries(audit) if entry[0] == "swap"]
    assert {("swap", "server", beta, "done"), ("swap", "server", beta, "SNAPSHOT_CORRUPT")} <= set(swaps)
    assert (
        found["egotools_requests_total", "OK", "Publish", ""]
        == found["egotools_requests_total", "OK", "Rollback", ""]
        == 1
    )
    assert found["egotools_swaps_total", ""] == 3 and found["egotools_refused_publications_total", ""] == 1
    assert [key[1] for key in found if key[0] == "egotools_snapshot_info"] == [alpha]
    async with publishing(store, audit) as server:  # a restart
        assert server.metrics_port
        again = await scrape(server.metrics_port)
    published = "egotools_snapshot_published_seconds"
    assert again[published, ""] == found[published, ""] == history(store.path)[-1].time.timestamp()


async def test_a_change_that_cannot_be_audited_is_not_made(built: EditionStore, tmp_path: Path) -> None:
    store = built.copy(tmp_path / "store")
    (tmp_path / "file").write_text("")
    async with publishing(store, tmp_path / "file" / "audit.jsonl") as server:
        with pytest.raises(ClientError, match="audit log"):
            await admin_call(server, "Publish", snapshot_id=store.ids["beta"])
        served = server.catalogs.state("").engine
        assert served is not None and served.snapshot_id == store.ids["alpha"]


# -- access control ----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def guarded(folder: Path, **settings: object) -> AsyncIterator[tuple[Server, dict[str, str]]]:
    roles = {"agent": "read", "prometheus": "metrics", "admin": "admin"}
    access, tokens = guarded_by(folder, **{name: {"roles": [role]} for name, role in roles.items()})
    given = {"metrics_port": 0, "audit_log": folder / "audit.jsonl", **access, **settings}
    async with serving(settings=small_settings(**given)) as server:
        yield server, tokens


async def test_denied_calls_are_logged_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with guarded(tmp_path) as (server, tokens):
        async with grpc.aio.insecure_channel(server.address) as channel:
            stub = pb_grpc.ToolRetrievalStub(channel)
            codes = [
                await code_of(stub.Retrieve(pb.RetrieveRequest(query="customer"), metadata=metadata))
                for metadata in (
                    (("authorization", f"Bearer {tokens['agent']}"),),
                    (("authorization", f"Bearer {tokens['prometheus']}"),),
                    (("authorization", "Bearer made-up"),),
                    (),
                )
            ]
        found = dict(samples(server.metrics.scrape().decode()))
    assert codes == ["OK", "PERMISSION_DENIED", "UNAUTHENTICATED", "UNAUTHENTICATED"]
    assert found["egotools_requests_total", "PERMISSION_DENIED", "Retrieve", ""] == 1
    assert found["egotools_requests_total", "UNAUTHENTICATED", "Retrieve", ""] == 2
    assert found["egotools_requests_total", "OK", "Retrieve", ""] == 1
    denied = [record.__dict__["fields"] for record in caplog.records if record.message == "denied"]
    assert [(each["caller"], each["reason"]) for each in denied] == [
        ("prometheus", "PERMISSION_DENIED"),
        ("", "UNAUTHENTICATED"),
        ("", "UNAUTHENTICATED"),
    ]
    assert ("load-policy", "server", str(tmp_path / "policy.yaml"), "done") in entries(tmp_path / "audit.jsonl")


async def test_the_metrics_are_for_the_role_metrics(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (server, tokens):
        port = server.metrics_port
        assert port
        codes = {
            name: (await fetch(port, "/metrics", f"Authorization: Bearer {token}"))[0] for name, token in tokens.items()
        }
        assert codes == {"agent": 403, "prometheus": 200, "admin": 403}
        assert (
            (await fetch(port, "/metrics"))[0] == (await fetch(port, "/metrics", "Authorization: Basic eA=="))[0] == 401
        )
        assert (await fetch(port, "/readyz"))[0] == 200


async def test_the_metrics_beyond_loopback_have_the_tls_of_the_server_and_its_rotation(tmp_path: Path) -> None:
    authority, second = Authority(), Authority("second")
    certificate, key = write_pair(tmp_path, authority.issue("server"))
    async with guarded(tmp_path, metrics_host="0.0.0.0", tls_cert=certificate, tls_key=key) as (server, tokens):
        port = server.metrics_port
        assert port

        async def status(trusted: Authority) -> int:
            context = ssl.create_default_context(cadata=trusted.pem.decode())
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            except ssl.SSLError:
                return 0
            writer.write(
                f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {tokens['prometheus']}\r\n\r\n".encode()
            )
            answer = await reader.read()
            writer.close()
            return int(answer.split(b" ")[1])

        assert (await status(authority), await status(second)) == (200, 0)
        assert (await fetch(port, "/livez"))[0] == 0, "plain text is not answered"
        write_pair(tmp_path, second.issue("server"))
        rotated = False
        while not rotated:
            rotated = await status(second) == 200
        assert await status(authority) == 0
