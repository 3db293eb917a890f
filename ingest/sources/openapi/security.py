"""The credentials that an OpenAPI operation needs: alternatives of schemes, with their scopes.

Documents also declare credentials as parameters (``X-Api-Key`` in the header). They are credentials all the same: the caller injects
them, and no model is asked for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from egotools.call import Security, SecurityScheme
from ingest.sources.json_schema.references import References
from ingest.sources.json_values import as_list, as_mapping, as_text
from ontology.errors import DocumentError
from ontology.names import words

__all__ = ["dangling_schemes", "is_credential", "security_of", "with_credential_parameters"]

# The last words of names of credentials; from general usage of HTTP APIs, found on the documents of VictorOps and GoToWebinar.
_CREDENTIALS = {
    "header": ("authorization", "api key", "apikey", "api token", "auth token", "access token", "subscription key"),
    "query": ("api key", "apikey"),
}


def is_credential(name: str, location: str) -> bool:
    """Whether a parameter is a credential by its name and location (``header``, ``query``)."""
    spoken = " ".join(words(name))
    return any(spoken == one or spoken.endswith(f" {one}") for one in _CREDENTIALS.get(location, ()))


def with_credential_parameters(
    security: tuple[Security, ...], parameters: Iterable[tuple[str, str]]
) -> tuple[Security, ...]:
    """Return the alternatives with an API key for each credential that is declared as a required parameter, as (name, location).

    Each alternative then needs them too. One that a scheme has already is not added again; nor is the header ``Authorization`` where a scheme
    fills it.
    """
    known = {(one.location, one.name.lower()) for each in security for one in each.schemes if one.type == "apiKey"}
    if any(one.type != "apiKey" for each in security for one in each.schemes):
        known.add(("header", "authorization"))
    added = tuple(
        SecurityScheme(key=name, type="apiKey", location=location, name=name)
        for name, location in parameters
        if (location, name.lower()) not in known
    )
    if not added:
        return security
    return tuple(Security(schemes=(*each.schemes, *added)) for each in security or (Security(),))


def security_of(body: Mapping[str, Any], root: Mapping[str, Any], references: References) -> tuple[Security, ...]:
    """The security of an operation, else that of the whole document; a scheme that is not defined has its name alone."""
    declared = as_list(body["security"] if "security" in body else root.get("security"))
    defined = _defined(root)

    def scheme(key: Any) -> Mapping[str, Any]:
        try:
            return references.resolve(defined.get(key))
        except DocumentError:  # told once for the document
            return {}

    return tuple(
        Security(schemes=tuple(_scheme(str(key), scheme(key), as_list(scopes)) for key, scopes in each.items()))
        for each in declared
        if isinstance(each, Mapping)
    )


def dangling_schemes(root: Mapping[str, Any], references: References) -> Iterator[tuple[str, DocumentError]]:
    """Yield the security schemes whose reference leads nowhere, with the error."""
    for key, node in _defined(root).items():
        try:
            references.resolve(node)
        except DocumentError as error:
            yield str(key), error


def _defined(root: Mapping[str, Any]) -> Mapping[str, Any]:
    components = as_mapping(as_mapping(root.get("components")).get("securitySchemes"))
    return components or as_mapping(root.get("securityDefinitions"))


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
