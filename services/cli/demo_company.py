"""The mock company's reads over HTTP with the standard library alone: the demo runs without the extra ``web``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit

from services.company.mock_company import CompanyAnswer, MockCompany

__all__ = ["demo_company"]


@contextmanager
def demo_company(catalog: Path, folder: Path) -> Iterator[dict[str, str]]:
    """Serve the reads of a new company on loopback; yields system → base URL.

    :param catalog: folder of the OpenAPI documents.
    :param folder: gets the company's records.
    """
    company = MockCompany(catalog, folder, seed=1)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(company))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        yield {operation.system: f"{url}/{operation.system}" for operation in company.operations}
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        company.close()


def _handler(company: MockCompany) -> type[BaseHTTPRequestHandler]:
    reads = [each for each in company.operations if each.method == "GET"]
    routes = [
        (re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", f"/{each.system}{each.path}")), each)
        for each in sorted(reads, key=lambda each: each.path.count("{"))
    ]

    def answer(target: str) -> CompanyAnswer:
        url = urlsplit(target)
        for pattern, operation in routes:
            if found := pattern.fullmatch(url.path):
                values = {name: unquote(value) for name, value in found.groupdict().items()}
                return company.answer(operation, values, parse_qs(url.query, keep_blank_values=True), b"")
        return CompanyAnswer(404, {"code": "NOT_FOUND", "message": "there is no such read"})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = answer(self.path)
            body = json.dumps(given.body).encode()
            self.send_response(given.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the demo prints the calls."""

    return Handler
