"""The source ``aws.v1``: service models in the form that botocore ships, from a file or from the installed botocore."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ingest.sources.aws.shapes import DanglingShapeError, ShapeBook, text
from ingest.sources.document import Document
from ingest.sources.odata.fields import words
from ingest.sources.source import RejectedRecord
from ontology.errors import DocumentError, MissingExtraError
from ontology.tool import Parameter, Tool

__all__ = ["AwsSource"]

_LIVE = "aws:"
_MODEL = "service-2"
_DESCRIPTION_CHARS = 600


class AwsSource:
    """Reader of ``service-2.json`` files, of ``aws:SERVICE`` and of ``aws:*``."""

    name = "aws.v1"

    def accepts(self, document: Document) -> bool:
        """An ``aws:`` address, or JSON with metadata of a service, operations and shapes."""
        if document.address.startswith(_LIVE):
            return True
        if not document.has_content or document.suffix != ".json":
            return False
        head = document.head
        if '"metadata"' not in head or not ('"endpointPrefix"' in head or '"serviceId"' in head):
            return False
        try:
            data = document.data
        except DocumentError:
            return False
        return isinstance(data, Mapping) and all(key in data for key in ("metadata", "operations", "shapes"))

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Read the operations; for ``aws:*`` those of one service after the other, called ``service.Operation``.

        :raises DocumentError: for a model without operations, an unknown service.
        :raises MissingExtraError: for an address without the extra ``aws``.
        """
        service = document.address.removeprefix(_LIVE)
        if not document.address.startswith(_LIVE):
            yield from _read_model(document.data, document.address)
        elif service == "*":
            for name in _services(document.address):
                try:
                    yield from _read_model(_installed(name, document.address), f"{_LIVE}{name}", prefix=f"{name}.")
                except DocumentError as error:
                    yield RejectedRecord(subject=f"{_LIVE}{name}", reason="unreadable", detail=f"{error.problem}.")
        else:
            yield from _read_model(_installed(service, document.address), document.address)


def _services(address: str) -> list[str]:
    return sorted(_loader(address).list_available_services(_MODEL))


def _loader(address: str) -> Any:
    try:
        from botocore.loaders import Loader
    except ImportError as error:
        raise MissingExtraError(address, extra="aws") from error
    return Loader()


def _installed(service: str, address: str) -> Any:
    """The newest model of a service; with a loader of its own, since a loader keeps all that it has loaded."""
    loader = _loader(address)
    from botocore.exceptions import DataNotFoundError

    try:
        version = loader.determine_latest_version(service, _MODEL)
        return loader.load_data(str(PurePosixPath(service, version, _MODEL)))
    except (DataNotFoundError, ValueError) as error:
        raise DocumentError(
            f"botocore has no service {service!r}",
            subject=address,
            remedy="Name one as botocore does (s3, dynamodb), or * for all",
        ) from error


def _read_model(model: Any, address: str, prefix: str = "") -> Iterator[Tool | RejectedRecord]:
    operations = model.get("operations") if isinstance(model, Mapping) else None
    if not isinstance(operations, Mapping) or not operations:
        raise DocumentError("the service model has no operations", subject=address)
    shapes = model.get("shapes")
    metadata = model.get("metadata")
    book = ShapeBook(shapes if isinstance(shapes, Mapping) else {})
    service = _service(metadata if isinstance(metadata, Mapping) else {})
    for name, operation in operations.items():
        subject = f"{address}#{name}"
        if not isinstance(operation, Mapping):
            yield RejectedRecord(subject=subject, reason="wrong-type", detail="An operation must be an object.")
            continue
        try:
            yield _tool(name, operation, book, service, prefix)
        except DanglingShapeError as error:
            detail = f"The shape {str(error)!r} is named and defined nowhere; define it in the model."
            yield RejectedRecord(subject=subject, reason="dangling-shape", detail=detail)
        except (AttributeError, TypeError) as error:
            yield RejectedRecord(
                subject=subject, reason="wrong-type", detail=f"One of its shapes is malformed ({error})."
            )


def _service(metadata: Mapping[str, Any]) -> str:
    names = (metadata.get(key) for key in ("serviceFullName", "serviceAbbreviation", "serviceId", "endpointPrefix"))
    return next((name for name in names if isinstance(name, str) and name), "")


def _tool(name: str, operation: Mapping[str, Any], book: ShapeBook, service: str, prefix: str) -> Tool:
    http = operation.get("http")
    http = http if isinstance(http, Mapping) else {}
    title = words(name)
    metadata: dict[str, Any] = {
        "title": title[:1].upper() + title[1:],
        "service": service,
        "method": str(http.get("method", "POST")),
        "path": str(http.get("requestUri", "/")),
        "tags": [service] if service else [],
    }
    if operation.get("deprecated") is True:
        metadata["deprecated"] = True
    return Tool(
        id=f"{prefix}{name}",
        name=f"{prefix}{name}",
        description=text(operation.get("documentation"), _DESCRIPTION_CHARS),
        parameters=_fields(book, operation.get("input"), inputs=True),
        returns=_fields(book, operation.get("output")),
        metadata=metadata,
    )


def _fields(book: ShapeBook, reference: Any, *, inputs: bool = False) -> tuple[Parameter, ...]:
    return book.fields(str(reference.get("shape")), inputs=inputs) if isinstance(reference, Mapping) else ()
