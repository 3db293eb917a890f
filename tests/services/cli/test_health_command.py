"""``egotools admin health`` says what the server of its settings says, in plain text and with TLS, and in its exit code."""

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ontology.errors import NotReadyError
from services.cli.app import app
from services.server.server import Server
from tests.harness.engines import serving, small_engine, small_settings
from tests.harness.issuers import Authority, write_pair


async def asked(*words: str, **environ: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, app, ["admin", "health", *words], env=environ)


async def test_the_exit_code_follows_the_server() -> None:
    server = Server(small_settings(), outcomes={})
    await server.start()
    port = server.address.rpartition(":")[2]
    try:
        loading = await asked("--port", port)
        await server.load(small_engine)
        serving_it = await asked(EGOTOOLS_PORT=port, EGOTOOLS_HOST="0.0.0.0")
    finally:
        await server.stop(0)
    gone = await asked("--port", port)
    assert loading.exit_code == NotReadyError.exit_code and "NOT_SERVING" in loading.output
    assert (serving_it.exit_code, serving_it.output) == (0, "SERVING\n")
    assert gone.exit_code == NotReadyError.exit_code and "UNAVAILABLE" in gone.output


@pytest.mark.parametrize("listens", ["localhost", "[::1]"])
async def test_it_trusts_the_certificate_of_its_own_server(tmp_path: Path, listens: str) -> None:
    certificate, key = write_pair(tmp_path, Authority().issue("server"))
    settings = small_settings(tls_cert=certificate, tls_key=key, host=listens.strip("[]"))
    async with serving(small_engine(), settings) as server:
        port = server.address.rpartition(":")[2]
        environ = {"EGOTOOLS_PORT": port, "EGOTOOLS_HOST": settings.host, "EGOTOOLS_TLS_CERT": str(certificate)}
        answer = await asked(**environ)
        assert (answer.exit_code, answer.output) == (0, "SERVING\n")
        assert (await asked(**{**environ, "EGOTOOLS_TLS_CERT": ""})).exit_code == NotReadyError.exit_code
