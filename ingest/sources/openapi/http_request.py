"""The request of an OpenAPI operation: its inputs, each with its place, the media type of the body, the credentials; and its answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from egotools.call import Argument, Security, SecurityScheme
from egotools.calling.input_arguments import ANY_NAME
from ingest.sources.json_schema.references import References
from ingest.sources.json_schema.schema import parts_of, states, view_of
from ingest.sources.operation import CallInput, arguments_of, distinct_names
from ingest.sources.source import as_list, as_mapping, as_text, is_true
from ontology.errors import DocumentError
from ontology.names import words


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOperation:
    """One operation and its path item."""

    id: str
    method: str  # in upper case
    path: str
    item: Mapping[str, Any]  # the path item that contains it, with references resolved
    body: Mapping[str, Any]


# The last words of names of credentials; from general usage of HTTP APIs, found on the documents of VictorOps and GoToWebinar.
_CREDENTIALS = {
    "header": ("authorization", "api key", "apikey", "api token", "auth token", "access token", "subscription key"),
    "query": ("api key", "apikey"),
}


def security_of(operation: HttpOperation, references: References, request: HttpRequest) -> tuple[Security, ...]:
    """The security of an operation, else that of the whole document; a scheme that is not defined has its name alone.
    Each alternative also needs an API key for each credential that is declared as a required parameter. One that a
    scheme has already is not added again; nor is the header ``Authorization`` where a scheme fills it."""
    defined = security_schemes(references.root)
    holder = operation.body if "security" in operation.body else references.root
    stated = tuple(
        Security(schemes=tuple(_scheme(key, defined.get(key), scopes, references) for key, scopes in each.items()))
        for each in as_list(holder.get("security"))
        if isinstance(each, Mapping)
    )
    schemes = [one for each in stated for one in each.schemes]
    known = {(one.location, one.name.lower()) for one in schemes if one.type == "apiKey"}
    if any(one.type != "apiKey" for one in schemes):
        known.add(("header", "authorization"))
    added = tuple(
        SecurityScheme(key=name, type="apiKey", location=location, name=name)
        for name, location in request.credentials
        if (location, name.lower()) not in known
    )
    return tuple(Security(schemes=(*each.schemes, *added)) for each in stated or (Security(),)) if added else stated


def security_schemes(root: Mapping[str, Any]) -> Mapping[Any, Any]:
    """The security schemes of a document by name, which may be references."""
    components = as_mapping(as_mapping(root.get("components")).get("securitySchemes"))
    return components or as_mapping(root.get("securityDefinitions"))


def _scheme(key: Any, node: Any, scopes: Any, references: References) -> SecurityScheme:
    try:
        row = references.resolve(node)
    except DocumentError:  # told once for the document
        row = {}
    type_, scheme = as_text(row.get("type")), as_text(row.get("scheme")).lower()
    if type_ == "basic":  # Swagger 2.0
        type_, scheme = "http", "basic"
    place = {"location": as_text(row.get("in")), "name": as_text(row.get("name"))} if type_ == "apiKey" else {}
    return SecurityScheme(key=str(key), type=type_, scheme=scheme, scopes=tuple(map(str, as_list(scopes))), **place)


# Set by the protocol, not by the caller: OpenAPI says to ignore parameters of these names.
_PROTOCOL_HEADERS = frozenset({"accept", "content-type"})
_LOCATIONS: Mapping[str, str] = {"path": "path", "query": "query", "header": "header", "formData": "form"}
_FORMS = re.compile(r"^(?:application/x-www-form-urlencoded|multipart/)", re.IGNORECASE)
_JSON = re.compile(r"^application/json\b|\+json\b|^text/json\b", re.IGNORECASE)
_TEMPLATE = re.compile(r"\{([^{}/]+)\}")
# A Swagger 2.0 parameter is its own schema; these of its keys are none of the schema's.
_FLAGS = frozenset({"required", "name", "in", "collectionFormat", "allowEmptyValue", "description"})
_STYLES = {"csv": "form", "ssv": "spaceDelimited", "pipes": "pipeDelimited", "tsv": "tabDelimited", "multi": "form"}


class HttpRequest(NamedTuple):
    """The request of an operation."""

    inputs: list[CallInput]  # path, query, header and form parameters, then the members of the body; names are unique
    arguments: tuple[Argument, ...]  # the place of each input, and of ``*`` where the body takes further members
    media_type: str  # of the body; empty without one
    values: Any  # schema of further members of the body (``additionalProperties``), or None
    credentials: list[tuple[str, str]]  # (name, location) of required parameters that are credentials, no inputs


class MediaType(NamedTuple):
    """One media type of a body or an answer, and the schema under it (None where there is none)."""

    name: str
    schema: Any = None


def request_of(operation: HttpOperation, references: References) -> HttpRequest:
    """The request of an operation. Cookies are left out: they belong to the session, not to the caller."""
    declared = _declared(operation, references)
    inputs = [  # variables of the path that the document does not declare are inputs too
        CallInput(Argument(name=name, location="path"), {"type": "string"}, required=True)
        for name in dict.fromkeys(_TEMPLATE.findall(operation.path))
        if (name, "path") not in declared
    ]
    media_type, values = "", None
    credentials: list[tuple[str, str]] = []
    body: Mapping[str, Any] = {}
    for (name, location), parameter in declared.items():
        spoken = f" {' '.join(words(name))}"
        if location == "body":  # Swagger 2.0
            body = parameter
            media_type = media_type or _consumed(operation, references.root, "application/json")
        elif any(spoken.endswith(f" {one}") for one in _CREDENTIALS.get(location, ())):
            credentials += [(name, location)] if is_true(parameter.get("required")) else []
        elif location in _LOCATIONS and not (location == "header" and name.lower() in _PROTOCOL_HEADERS):
            inputs.append(_input(name, _LOCATIONS[location], parameter))
            if location == "formData":
                media_type = media_type or _consumed(operation, references.root, "application/x-www-form-urlencoded")
    schema = body.get("schema")
    if request := references.resolve(operation.body.get("requestBody")):
        body = request
        media_type, schema = media_type_of(request)
    location = "form" if _FORMS.match(media_type) else "body"
    if body and isinstance(schema, Mapping):
        members, values = _body(schema, body, as_mapping(body.get("content")).get(media_type), location, references)
        inputs += members
    elif body and media_type:
        inputs.append(_whole({}, body))
    inputs = distinct_names(inputs)
    further = (Argument(name=ANY_NAME, location=location),) if values is not None else ()
    return HttpRequest(inputs, (*arguments_of(inputs), *further), media_type, values, credentials)


def media_type_of(holder: Mapping[str, Any]) -> MediaType:
    """The JSON media type of a ``content`` object, else the first that has a schema, else the first."""
    content = as_mapping(holder.get("content"))
    media = (MediaType(str(name), as_mapping(inner).get("schema")) for name, inner in content.items())
    return min(media, key=lambda each: (each.schema is None, not _JSON.search(each.name)), default=MediaType(""))


def _declared(operation: HttpOperation, references: References) -> dict[tuple[str, str], Mapping[str, Any]]:
    """The parameters by name and location, spelled as their path has them; those of the operation take the place of those of its path."""
    declared: dict[tuple[str, str], Mapping[str, Any]] = {}
    spelled = {("path", name.lower()): name for name in _TEMPLATE.findall(operation.path)}
    exact = set(spelled.values())
    for node in (*as_list(operation.item.get("parameters")), *as_list(operation.body.get("parameters"))):
        parameter = references.resolve(node)
        name, location = as_text(parameter.get("name")).strip(), str(parameter.get("in"))
        if not name:
            problem = "a parameter has no name"
            raise DocumentError(problem, subject="parameters", remedy="Give it a name", reason="wrong-type")
        if location == "header" or (location == "path" and name not in exact):
            name = spelled.setdefault((location, name.lower()), name)
        declared[name, location] = parameter
    return declared


def _input(name: str, location: str, parameter: Mapping[str, Any]) -> CallInput:
    content = media_type_of(parameter)
    schema = parameter.get("schema") or content.schema
    if schema is None:
        schema = {key: value for key, value in parameter.items() if key not in _FLAGS}
    elif isinstance(schema, Mapping) and "example" in parameter:
        schema = {**schema, "example": parameter["example"]}
    collection = as_text(parameter.get("collectionFormat"))
    if not collection and "schema" not in parameter and parameter.get("type") == "array":
        collection = "csv"  # the default of Swagger 2.0
    style = "json" if content.name else as_text(parameter.get("style")) or _STYLES.get(collection, "")
    explode = collection == "multi" if collection else parameter.get("explode")
    explode = explode if isinstance(explode, bool) else None
    argument = Argument(name=name, location=location, style=style, explode=explode)
    required = is_true(parameter.get("required")) or location == "path"
    return CallInput(argument, schema, required, as_text(parameter.get("description")))


def _consumed(operation: HttpOperation, root: Mapping[str, Any], default: str) -> str:
    """The media type of the body of a Swagger 2.0 operation: a form where the default is one."""
    consumes = as_list(operation.body.get("consumes")) or as_list(root.get("consumes"))
    is_form = bool(_FORMS.match(default))
    names = [name for name in consumes if isinstance(name, str) and bool(_FORMS.match(name)) == is_form]
    return next((name for name in names if _JSON.search(name)), names[0] if names else default)


def _body(
    schema: Mapping[str, Any], holder: Mapping[str, Any], content: Any, location: str, references: References
) -> tuple[list[CallInput], Any]:
    """The members of an object, in the styles that ``content`` gives them, else the whole body; alternatives (``oneOf``) are not torn apart."""
    view = view_of(schema, references.lookup)
    parts = parts_of(schema, references.lookup, ("allOf",))
    if not view.properties or any(len(as_list(part.get(key))) > 1 for part in parts for key in ("oneOf", "anyOf")):
        return [_whole(schema, holder)], None
    required = is_true(holder.get("required"))
    encodings = as_mapping(as_mapping(content).get("encoding"))
    members: list[CallInput] = []
    for name, inner in view.properties.items():
        if name.strip() and not states(inner, "readOnly", references.lookup):
            encoding = as_mapping(encodings.get(name))
            style, explode = as_text(encoding.get("style")), encoding.get("explode")
            if not style and _JSON.search(as_text(encoding.get("contentType"))):
                style = "json"
            explode = explode if isinstance(explode, bool) else None
            argument = Argument(name=name, location=location, style=style, explode=explode)
            members.append(CallInput(argument, inner, required and name in view.required))
    is_open = references.resolve(schema).get("additionalProperties") in (True, {})
    return members, {} if view.values is None and is_open else view.values


def _whole(schema: Any, holder: Mapping[str, Any]) -> CallInput:
    argument = Argument(name="body", location="body", whole_body=True)
    return CallInput(argument, schema, is_true(holder.get("required")), as_text(holder.get("description")))


_SUCCESS = re.compile(r"^2(\d\d|XX)$", re.IGNORECASE)


def answer_of(operation: HttpOperation, references: References) -> MediaType:
    """The media type of the first of 200, 201, other 2xx, ``default`` that has one, and the schema of the first that has one; or none."""
    found: list[MediaType] = []
    for response in success_responses(operation.body, references):
        media = media_type_of(response)
        if "schema" in response:  # Swagger 2.0
            produced = as_list(operation.body.get("produces")) or as_list(references.root.get("produces"))
            named = next((name for name in produced if isinstance(name, str)), "application/json")
            media = MediaType(media.name or named, response["schema"])
        found.append(media)
    schemas = (each.schema for each in found if isinstance(each.schema, Mapping) and each.schema)
    return MediaType(next((each.name for each in found if each.name), ""), next(schemas, None))


def success_responses(body: Mapping[str, Any], references: References) -> list[Mapping[str, Any]]:
    """The success answers in the order of their statuses, ``default`` last."""
    by_code = {str(code): response for code, response in as_mapping(body.get("responses")).items()}
    codes = sorted((code for code in by_code if _SUCCESS.match(code)), key=str.upper)
    return [references.resolve(by_code[code]) for code in (*codes, "default") if code in by_code]
