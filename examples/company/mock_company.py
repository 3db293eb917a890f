"""The company: the operations of its documents over its records, as calls and over HTTP."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET6
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from examples.company.api_documents import Operation, Refusal, check_value, parsed, read_operations, wrong
from examples.company.business_rules import COMPUTED, SPECIAL
from examples.company.calls import CompanyCall, answer_by_form
from examples.company.records import CompanyRecords, Kinds
from ontology.errors import InvalidArgumentError
from ontology.files import write_file

MAX_BODY = 1 << 20
"""The most bytes of a request's body."""
_MOST_READ = 16 * MAX_BODY  # what is less too large is read to its end: else the caller may not see the answer
_FILE = "company.sqlite"
_MAX_DEPTH, _MAX_TEXT, _MAX_NUMBER = 50, 10_000, 10**15
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_IDLE_S = 60.0


@dataclass(frozen=True, slots=True)
class CompanyAnswer:
    """An answer of the company; ``body`` is JSON, None of an answer without one."""

    status: int
    body: Any


class MockCompany:
    """Answers calls of the OpenAPI documents of a catalogue from records in a folder.

    :param catalog: folder of the documents.
    :param folder: where the records are kept; a folder without them gets the first ones.
    :raises InvalidArgumentError: when the folder holds another file of that name, or the catalogue has no documents.
    """

    def __init__(self, catalog: Path, folder: Path) -> None:
        self.operations = read_operations(catalog)
        self._records = CompanyRecords(folder / _FILE, Kinds(self.operations))

    def answer(
        self, operation: Operation, path: Mapping[str, str], query: Mapping[str, Sequence[str]], body: bytes
    ) -> CompanyAnswer:
        """Answer one call. May be called by several threads.

        :param path: values of the path, decoded.
        :param query: values of the query by name, decoded.
        """
        try:
            values, sent = _values(operation, path, query), _body(operation, body)
            with self._records.transaction():
                call = CompanyCall(self._records, operation, values, sent, COMPUTED)
                _ = call.subject  # the path must name records that are there, whatever the call does
                shown = SPECIAL.get(operation.id, answer_by_form)(call)
            return CompanyAnswer(operation.status, shown if operation.answer is not None else None)
        except Refusal as refusal:
            return CompanyAnswer(refusal.status, {"code": refusal.code, "message": refusal.message})

    def close(self) -> None:
        """Close the records."""
        self._records.close()


def _values(operation: Operation, path: Mapping[str, str], query: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The parameters of a call; defaults where there are some. Those that the document does not have are refused."""
    known = {parameter.name for parameter in operation.parameters if parameter.place == "query"}
    if unknown := sorted(set(query) - known):
        raise wrong(unknown[0][:80], f"there is no such parameter; known: {', '.join(sorted(known)) or 'none'}")
    values: dict[str, Any] = {}
    for parameter in operation.parameters:
        name = parameter.name
        if parameter.place == "path":
            try:
                values[name] = parsed([path[name]], parameter.schema, name)
            except Refusal:  # one of another form than its schema's names nothing that is there
                raise Refusal(404, "NOT_FOUND", f"{name}: there is no record {path[name][:80]!r}") from None
        elif name in query:
            values[name] = parsed(query[name], parameter.schema, name)
        elif parameter.required:
            raise wrong(name, "it is missing")
        elif "default" in parameter.schema:
            values[name] = parameter.schema["default"]
    for name, value in values.items():
        _check_size(value, name)
    return values


def _body(operation: Operation, body: bytes) -> Any:
    if operation.body is None or not body:
        if operation.body_required:
            raise wrong("body", "it is missing")
        return None
    try:
        sent = json.loads(body)
        _check_size(sent, "body")
    except (ValueError, RecursionError):
        raise wrong("body", "it is no JSON, or nested too deeply") from None
    check_value(sent, operation.body, "body")
    return sent


def _check_size(value: Any, where: str, depth: int = 0) -> None:
    """:raises Refusal: 400 for what is too deep, long or large, or no Unicode."""
    if isinstance(value, str) and (len(value) > _MAX_TEXT or any("\ud800" <= letter <= "\udfff" for letter in value)):
        raise wrong(where, f"it has more than {_MAX_TEXT:,} characters, or is no Unicode")
    if isinstance(value, int | float) and not (math.isfinite(value) and abs(value) <= _MAX_NUMBER):
        raise wrong(where, "it is no number, or too large")
    if depth > _MAX_DEPTH:
        raise wrong(where, "it is nested too deeply")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_size(inner, where, depth + 1)


class _CompanyServer(ThreadingHTTPServer):
    """``/procurement/suppliers`` is the path ``/suppliers`` of ``procurement.yaml``."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, company: MockCompany, host: str, port: int) -> None:
        self.address_family = AF_INET6 if ":" in host else self.address_family
        super().__init__((host, port), _Handler)
        self.company = company
        self.routes = [
            (re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", f"/{each.system}{each.path}")), each)
            for each in sorted(company.operations, key=lambda each: each.path.count("{"))
        ]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}"
        self.systems = {each.system: f"{self.url}/{each.system}" for each in company.operations}

    def server_bind(self) -> None:
        """Bind without a look-up of the host's name."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    server: _CompanyServer
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_S
    wbufsize = -1
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        try:
            answer = self._answer()
        except Refusal as refusal:
            answer = CompanyAnswer(refusal.status, {"code": refusal.code, "message": refusal.message})
        text = b"" if answer.body is None else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        if text:
            self.send_header("content-type", "application/json")
        if answer.status != 204:
            self.send_header("content-length", str(len(text)))
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else text)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def _answer(self) -> CompanyAnswer:
        body, url = self._body(), urlsplit(self.path)
        host = urlsplit(f"//{self.headers.get('host', '')}").hostname
        if str(self.server.server_address[0]) in _LOOPBACK and host not in _LOOPBACK:
            # which a web site can make point here (DNS rebinding)
            raise Refusal(421, "INVALID", "this server has another name")
        if url.path == "/":
            return CompanyAnswer(200, {"systems": Counter(each.system for each in self.server.company.operations)})
        method = "GET" if self.command == "HEAD" else self.command
        matching = [(found, each) for pattern, each in self.server.routes if (found := pattern.fullmatch(url.path))]
        for found, operation in matching:
            if operation.method == method:
                if body and operation.body is not None and self.headers.get_content_type() != "application/json":
                    raise Refusal(415, "NOT_JSON", "the body must be application/json")
                values = {name: unquote(value) for name, value in found.groupdict().items()}
                query = parse_qs(url.query, keep_blank_values=True)
                return self.server.company.answer(operation, values, query, body)
        raise Refusal(405, "NOT_ALLOWED", method) if matching else Refusal(404, "NOT_FOUND", url.path[:80])

    def _body(self) -> bytes:
        length = self.headers.get("content-length", "0")
        if "transfer-encoding" in self.headers or not (length.isascii() and length.isdecimal() and len(length) < 16):
            self.close_connection = True
            raise Refusal(411, "INVALID", "the length of the body is not given")
        body = self.rfile.read(min(int(length), _MOST_READ))
        if len(body) > MAX_BODY:
            self.close_connection = True
            raise Refusal(413, "TOO_LARGE", f"the body has more than {MAX_BODY:,} bytes")
        return body

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _listening(company: MockCompany, host: str, port: int) -> _CompanyServer:
    try:
        return _CompanyServer(company, host, port)
    except (OSError, OverflowError) as error:
        remedy = "Choose another --host or --port"
        raise InvalidArgumentError(f"cannot listen: {error}", subject=f"{host}:{port}", remedy=remedy) from error


@contextmanager
def served_company(catalog: Path, folder: Path) -> Iterator[dict[str, str]]:
    """Serve a company on loopback inside the block; yields system → base URL. Parameters as of :class:`MockCompany`."""
    company = MockCompany(catalog, folder)
    server = _listening(company, "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.systems
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        company.close()


def serve_company(
    company: MockCompany, *, host: str, port: int, ready_file: Path | None, ready: Callable[[str], None]
) -> None:
    """Serve a company over HTTP until SIGTERM or SIGINT; to be called in the main thread.

    :param port: 0 for any free one.
    :param ready_file: gets ``url``, ``pid`` and ``systems`` (system → base URL) as JSON when the company listens.
    :param ready: is called with the URL then.
    :raises InvalidArgumentError: when the address is in use or no address.
    """
    with _listening(company, host, port) as server:
        if ready_file is not None:
            content = {"url": server.url, "pid": os.getpid(), "systems": server.systems}
            write_file(ready_file, json.dumps(content) + "\n")
        ready(server.url)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: sys.exit(0))
        server.serve_forever()
