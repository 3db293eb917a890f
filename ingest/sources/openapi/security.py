"""The credentials that an OpenAPI operation needs: alternatives of schemes, with their scopes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from egotools.call import Security, SecurityScheme
from ingest.sources.json_schema.references import References
from ingest.sources.json_values import as_list, as_mapping, as_text

__all__ = ["security_of"]


def security_of(body: Mapping[str, Any], root: Mapping[str, Any], references: References) -> tuple[Security, ...]:
    """The security of an operation, else that of the whole document.

    :raises DocumentError: when a reference leads nowhere.
    """
    declared = as_list(body["security"] if "security" in body else root.get("security"))
    defined = as_mapping(as_mapping(root.get("components")).get("securitySchemes")) or as_mapping(
        root.get("securityDefinitions")
    )
    return tuple(
        Security(
            schemes=tuple(
                _scheme(str(key), references.resolve(defined.get(key)), as_list(scopes)) for key, scopes in each.items()
            )
        )
        for each in declared
        if isinstance(each, Mapping)
    )


def _scheme(key: str, row: Mapping[str, Any], scopes: list[Any]) -> SecurityScheme:
    type_, scheme = as_text(row.get("type")), as_text(row.get("scheme")).lower()
    if type_ == "basic":  # Swagger 2.0
        type_, scheme = "http", "basic"
    is_key = type_ == "apiKey"
    return SecurityScheme(
        key=key,
        type=type_,
        location=as_text(row.get("in")) if is_key else "",
        name=as_text(row.get("name")) if is_key else "",
        scheme=scheme,
        scopes=tuple(map(str, scopes)),
    )
