"""The source ``aws.v1``: service models in the format of botocore, from a file or from the installed botocore."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from egotools.call import Argument, Call, Security, SecurityScheme
from ingest.sources.aws.shapes import Shapes, plain_documentation
from ingest.sources.document import Document
from ingest.sources.json_schema.cut_parts import cut_parts
from ingest.sources.json_schema.self_contained import SelfContained
from ingest.sources.json_values import as_mapping
from ingest.sources.prose import title_of
from ingest.sources.source import RejectedRecord, Source
from ontology.errors import DocumentError, MissingExtraError
from ontology.tool import Parameter, Tool

__all__ = ["AwsSource"]

_LIVE = "aws:"
_MODEL = "service-2"
_DESCRIPTION_CHARS = 600
_SIGNED = (Security(schemes=(SecurityScheme(key="aws", type="aws4"),)),)
_SERVICE_NAMES = ("serviceFullName", "serviceAbbreviation", "serviceId", "endpointPrefix")


class AwsSource(Source):
    """Reader of ``service-2.json`` files, of ``aws:SERVICE`` and of ``aws:*``."""

    name = "aws.v1"
    live_prefixes = (_LIVE,)

    def accepts(self, document: Document) -> bool:
        """Whether it is an ``aws:`` address, or JSON with the metadata, operations and shapes of a service."""
        if not document.has_content:
            return document.address.startswith(self.live_prefixes)
        head = document.head if document.suffix == ".json" else ""
        if '"metadata"' not in head or not ('"endpointPrefix"' in head or '"serviceId"' in head):
            return False
        data = document.data_or_none
        return isinstance(data, Mapping) and {"metadata", "operations", "shapes"} <= data.keys()

    def read(self, document: Document) -> Iterator[Tool | RejectedRecord]:
        """Yield one tool for each operation; for ``aws:*`` of all services, with the name ``service.Operation``.

        :raises DocumentError: for a model without operations, or an unknown service.
        :raises MissingExtraError: for an ``aws:`` address when botocore is not installed.
        """
        service = document.address.removeprefix(_LIVE)
        if document.has_content:
            yield from _read_model(document.data, document.address)
        elif service == "*":
            for name in sorted(_loader(document.address).list_available_services(_MODEL)):
                try:
                    model = _installed(name, document.address)
                    yield from _read_model(model, f"{_LIVE}{name}", name, prefix=f"{name}.")
                except DocumentError as error:
                    yield RejectedRecord.of_error(f"{_LIVE}{name}", error)
        else:
            yield from _read_model(_installed(service, document.address), document.address, service)


def _loader(address: str) -> Any:
    try:
        from botocore.loaders import Loader
    except ImportError as error:
        raise MissingExtraError(address, extra="aws") from error
    return Loader()


def _installed(service: str, address: str) -> Any:
    """Return the newest model of a service. Each call has a new loader, because a loader caches everything it loads."""
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


def _read_model(model: Any, address: str, name: str = "", *, prefix: str = "") -> Iterator[Tool | RejectedRecord]:
    """Read the operations of a model; ``name`` is that of the service in botocore."""
    model = as_mapping(model)
    operations = as_mapping(model.get("operations"))
    if not operations:
        raise DocumentError("the service model has no operations", subject=address)
    shapes = Shapes(as_mapping(model.get("shapes")))
    metadata = as_mapping(model.get("metadata"))
    names = (metadata.get(key) for key in _SERVICE_NAMES)
    service = next((name for name in names if isinstance(name, str) and name), "")
    called = name or str(metadata.get("serviceId") or metadata.get("endpointPrefix") or "").lower().replace(" ", "-")
    for operation_name, operation in operations.items():
        subject = f"{address}#{operation_name}"
        if not isinstance(operation, Mapping):
            yield RejectedRecord(subject, "wrong-type", "An operation must be an object.")
            continue
        try:
            yield _tool(f"{prefix}{operation_name}", operation_name, operation, shapes, service, called)
        except (AttributeError, TypeError) as error:
            yield RejectedRecord(subject, "wrong-type", f"One of its shapes is malformed ({error}).")
        except Exception as error:  # whatever is wrong with one, the others are read
            yield RejectedRecord.of_error(subject, error)


def _tool(id_: str, name: str, operation: Mapping[str, Any], shapes: Shapes, service: str, called: str) -> Tool:
    http = as_mapping(operation.get("http"))
    metadata: dict[str, Any] = {
        "title": title_of(name),
        "service": service,
        "method": str(http.get("method", "POST")),
        "path": str(http.get("requestUri", "/")),
        "tags": [service] if service else [],
    }
    if operation.get("deprecated") is True:
        metadata["deprecated"] = True
    taken, given = _schema(shapes, operation.get("input")), _schema(shapes, operation.get("output"), output=True)
    metadata |= cut_parts(input_schema=taken, output_schema=given)
    input_schema = taken.schema if taken else {"type": "object", "properties": {}}
    return Tool(
        id=id_,
        name=id_,
        description=plain_documentation(operation.get("documentation"), _DESCRIPTION_CHARS),
        parameters=_fields(shapes, operation.get("input"), inputs=True),
        returns=_fields(shapes, operation.get("output")),
        metadata=metadata,
        input_schema=input_schema,
        output_schema=given.schema if given else None,
        call=Call(
            protocol="aws",
            service=called,
            operation=name,
            method=metadata["method"],
            path=metadata["path"],
            arguments=tuple(Argument(name=key) for key in as_mapping(input_schema.get("properties"))),
            security=() if operation.get("authtype") == "none" else _SIGNED,
        ),
    )


def _schema(shapes: Shapes, reference: Any, *, output: bool = False) -> SelfContained | None:
    return shapes.schema(str(reference.get("shape")), output=output) if isinstance(reference, Mapping) else None


def _fields(shapes: Shapes, reference: Any, *, inputs: bool = False) -> tuple[Parameter, ...]:
    return shapes.fields(str(reference.get("shape")), inputs=inputs) if isinstance(reference, Mapping) else ()
