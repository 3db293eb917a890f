"""The success answer of an OpenAPI operation: its media type and its schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ingest.sources.json_schema.references import References
from ingest.sources.json_values import as_list, as_mapping
from ingest.sources.openapi.http_request import MediaType, media_type_of
from ingest.sources.openapi.operation import Operation

__all__ = ["answer_of", "success_responses"]

_SUCCESS = re.compile(r"^2(\d\d|XX)$", re.IGNORECASE)


def answer_of(operation: Operation, root: Mapping[str, Any], references: References) -> MediaType:
    """The media type of the first of 200, 201, other 2xx, ``default`` that has one, and the schema of the first that has one.

    The media type is empty and the schema None where no answer has one.

    :raises DocumentError: when a reference leads nowhere.
    """
    found = [_media(response, operation, root) for _, response in success_responses(operation.body, references)]
    schemas = (each.schema for each in found if isinstance(each.schema, Mapping) and each.schema)
    return MediaType(next((each.name for each in found if each.name), ""), next(schemas, None))


def success_responses(body: Mapping[str, Any], references: References) -> list[tuple[str, Mapping[str, Any]]]:
    """The success answers by status, in the order of the statuses, ``default`` last.

    :raises DocumentError: when a reference leads nowhere.
    """
    responses = as_mapping(body.get("responses"))
    by_code = {str(code): response for code, response in responses.items()}
    codes = sorted((code for code in by_code if _SUCCESS.match(code)), key=str.upper)
    default = ["default"] if "default" in responses else []
    return [(code, references.resolve(by_code[code])) for code in (*codes, *default)]


def _media(response: Mapping[str, Any], operation: Operation, root: Mapping[str, Any]) -> MediaType:
    media = media_type_of(response)
    if "schema" not in response:
        return media
    produced = as_list(operation.body.get("produces")) or as_list(root.get("produces"))  # Swagger 2.0
    name = media.name or next((name for name in produced if isinstance(name, str)), "application/json")
    return MediaType(name, response["schema"])
