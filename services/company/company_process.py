"""The process of the mock company: it listens, says where, and serves until SIGTERM or SIGINT."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ontology.errors import InvalidArgumentError, MissingExtraError
from ontology.files import disk_errors, replacing
from services.company.mock_company import MockCompany

__all__ = ["serve_company"]

_BACKLOG = 128
_DRAIN_S = 5


def serve_company(
    company: MockCompany,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    ready_file: Path | None = None,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve a company over HTTP until a signal ends it.

    :param port: 0 for any free one.
    :param ready_file: gets ``url``, ``pid`` and ``systems`` (system → base URL) as JSON when the company listens.
    :param ready: is called with the URL then.
    :raises InvalidArgumentError: when the address is in use or no address.
    :raises MissingExtraError: without the extra ``web``.
    """
    try:
        import uvicorn

        from services.company.company_app import company_app
    except ImportError as error:
        raise MissingExtraError(error.name or "uvicorn", extra="web") from error

    with _listening(host, port) as listener:
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}"
        config = uvicorn.Config(company_app(company), log_level="warning", timeout_graceful_shutdown=_DRAIN_S)
        if ready_file is not None:
            systems = {operation.system: f"{url}/{operation.system}" for operation in company.operations}
            content = {"url": url, "pid": os.getpid(), "systems": systems}
            with disk_errors(ready_file, remedy="Choose a folder that exists and can be written"):
                with replacing(ready_file) as temporary:
                    temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")
        ready(url)
        with suppress(KeyboardInterrupt):  # raised again by uvicorn when SIGINT has ended it
            uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise InvalidArgumentError(
            f"cannot listen: {error}", subject=f"{host}:{port}", remedy="Choose another --host or --port"
        ) from error
    return listener
