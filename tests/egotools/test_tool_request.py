"""The request of a tool: every place of an argument, what is refused, and that no credential is shown."""

import base64
import json
from typing import Any

import pytest

from egotools import (
    Argument,
    Call,
    Security,
    SecurityScheme,
    ToolRequestError,
    build_request,
)
from egotools.calling.http_call import ToolHttpRequest

SERVER = "https://api.example.test/v1"


def call(*arguments: Argument, **fields: Any) -> Call:
    return Call(
        **{"protocol": "http", "servers": (SERVER,), "method": "GET", "path": "/x", "arguments": arguments, **fields}
    )


def sent(made: Call, arguments: dict[str, Any], **options: Any) -> ToolHttpRequest:
    request = build_request(made, arguments, **options)
    assert isinstance(request, ToolHttpRequest)
    return request


def place(name: str, location: str = "query", **fields: Any) -> Argument:
    return Argument(name=name, location=location, **fields)


LIST, OBJECT = ["blue", "black"], {"R": 100, "G": 200}


@pytest.mark.parametrize(
    ("location", "style", "explode", "value", "written"),
    [
        # the table "Style Examples" of OpenAPI
        ("path", "", None, "blue", "blue"),
        ("path", "simple", False, LIST, "blue,black"),
        ("path", "simple", True, LIST, "blue,black"),
        ("path", "simple", False, OBJECT, "R,100,G,200"),
        ("path", "simple", True, OBJECT, "R=100,G=200"),
        ("path", "form", True, LIST, "blue,black"),
        ("path", "json", None, {"a": [1]}, "%7B%22a%22%3A%5B1%5D%7D"),
        ("path", "", None, "a/b?c#d%2F é", "a%2Fb%3Fc%23d%252F%20%C3%A9"),
        ("path", "", None, 7, "7"),
        ("path", "", None, True, "true"),
        ("query", "", None, "", "color="),
        ("query", "form", None, LIST, "color=blue&color=black"),
        ("query", "form", False, LIST, "color=blue,black"),
        ("query", "form", False, ["a,b", "c d"], "color=a%2Cb,c%20d"),
        ("query", "form", None, OBJECT, "R=100&G=200"),
        ("query", "form", False, OBJECT, "color=R,100,G,200"),
        ("query", "deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=200"),
        ("query", "deepObject", True, {"a": {"b": 1}}, "color%5Ba%5D%5Bb%5D=1"),
        ("query", "deepObject", True, {"a": [1, 2]}, "color%5Ba%5D%5B%5D=1&color%5Ba%5D%5B%5D=2"),
        ("query", "deepObject", True, {"a": [{"b": 1}]}, "color%5Ba%5D%5B0%5D%5Bb%5D=1"),
        ("query", "json", None, {"a": 1}, "color=%7B%22a%22%3A1%7D"),
        ("query", "", None, [], ""),
        ("query", "", None, 1.5, "color=1.5"),
        ("query", "", None, "a&b=c+d", "color=a%26b%3Dc%2Bd"),
    ],
)
def test_styles(location: str, style: str, explode: bool | None, value: Any, written: str) -> None:
    made = call(
        place("color", location, style=style, explode=explode), path="/c/{color}" if location == "path" else "/c"
    )
    assert sent(made, {"color": value}).url.raw_path.decode().removeprefix("/v1/c").lstrip("/?") == written


def test_reserved_expansion_keeps_slashes_and_ends_no_path() -> None:
    made = call(place("name", "path"), path="/v1/{+name}:run")
    assert str(sent(made, {"name": "projects/p 1/x?y#z"}).url) == f"{SERVER}/v1/projects/p%201/x%3Fy%23z:run"


class TestBodies:
    def test_members(self) -> None:
        made = call(place("id", "path"), place("body_id", "body", wire_name="id"), place("note", "body"), method="PUT",
                    path="/x/{id}", media_type="application/json")  # fmt: skip
        request = sent(made, {"id": 1, "body_id": 2, "note": "é"})
        assert request.content == '{"id":2,"note":"é"}'.encode()
        assert request.headers["content-type"] == "application/json"

    @pytest.mark.parametrize("value", [[1, {"a": None}], "text", {"a": 1}, 0, False])
    def test_a_whole_body_is_any_value(self, value: Any) -> None:
        made = call(place("body", "body", whole_body=True), method="POST", media_type="application/vnd.x+json; v=2")
        request = sent(made, {"body": value})
        assert json.loads(request.content) == value
        assert request.headers["content-type"] == "application/vnd.x+json; v=2"

    @pytest.mark.parametrize(
        ("value", "schema", "body"),
        [
            (None, {"type": "string"}, {}),
            (None, {"type": ["string", "null"]}, {"a": None}),
            (None, {"type": "string", "nullable": True}, {"a": None}),
            (None, {"anyOf": [{"type": "string"}, {"type": "null"}]}, {"a": None}),
            (None, {"$ref": "#/$defs/Maybe"}, {"a": None}),
            (None, {"enum": ["x", None]}, {"a": None}),
            (None, {}, {"a": None}),
            ({"b": None, "c": 1}, {"type": "object", "properties": {"b": {"type": "string"}}}, {"a": {"c": 1}}),
            ([{"b": None}], {"type": "array", "items": {"properties": {"b": {"type": "string"}}}}, {"a": [{}]}),
        ],
    )
    def test_a_null_that_the_schema_does_not_allow_is_absent(self, value: Any, schema: Any, body: Any) -> None:
        made = call(place("a", "body"), method="POST", media_type="application/json")
        root = {"properties": {"a": schema}, "$defs": {"Maybe": {"type": ["object", "null"]}}}
        assert json.loads(sent(made, {"a": value}, schema=root).content) == body


def renamed(name: str, key: str, inner: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": {key: {"title": name, **(inner or {"type": "string"})}}}


def test_names_that_were_made_legal_are_taken_back_at_every_depth() -> None:
    made = call(place("$top"), place("filter[name]", "body"), place("plain", "body"), method="POST")
    by_call = sent(made, {"top": 3, "filter_name": "x", "plain": 1})
    assert by_call.url.query == b"%24top=3"
    assert json.loads(by_call.content) == {"filter[name]": "x", "plain": 1}
    vendor = {"properties": {"plain": renamed("@type", "type"), "top": {"title": "$top", "type": "integer"}}}
    assert json.loads(sent(made, {"plain": {"type": "T"}}, schema=vendor).content) == {"plain": {"@type": "T"}}
    source = {"properties": {"plain": {"properties": {"@type": {"type": "string"}}}, "$top": {"type": "integer"}}}
    for key in ("type", "@type"):
        assert json.loads(sent(made, {"plain": {key: "T"}}, schema=source).content) == {"plain": {"@type": "T"}}
    with pytest.raises(ToolRequestError, match="given twice"):
        sent(made, {"top": 1, "$top": 2})


MONEY = {
    "type": "object",
    "required": ["amount", "currency"],
    "properties": {
        "amount": {"type": "number"},
        "currency": {"type": "string", "enum": ["EUR", "USD"], "pattern": "^(a+)+$"},
        "id": {"type": "string", "readOnly": True},
        "$tax": {
            "type": "object",
            "required": ["rate", "id"],
            "properties": {"rate": {"type": "integer"}, "id": {"readOnly": True}},
        },
    },
    "additionalProperties": {"type": "boolean"},
}
PRICE = {"amount": 2, "currency": "EUR"}


def priced(schema: Any, value: Any, location: str = "body", *, strict: bool = False) -> ToolHttpRequest:
    """The request with one argument ``price``, where ``#/$defs/Money`` is an amount of money."""
    root: dict[str, Any] = {"type": "object", "properties": {"price": schema}, "$defs": {"Money": MONEY}}
    given = {"function": {"name": "x", "strict": True, "parameters": root}} if strict else root
    return sent(call(place("price", location), method="POST"), {"price": value}, schema=given)


REF = {"$ref": "#/$defs/Money"}
OR_NULL = {"anyOf": [REF, {"type": "null"}]}


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        (REF, {"amount": 2}, "price.currency: this required member is missing"),
        (REF, {}, "price.amount: this required member is missing.*Also missing: currency"),
        (REF, {**PRICE, "amount": "2"}, "price.amount: the value is a string, not a number"),
        (REF, {**PRICE, "currency": "GBP"}, "price.currency: .*none of those.*Give one of: EUR, USD"),
        (REF, {**PRICE, "$tax": {"rate": 0.5}}, r"price.\$tax.rate: the value is a number, not an integer"),
        (REF, {**PRICE, "tax": {}}, r"price.\$tax.rate: this required member is missing"),
        (REF, {**PRICE, "amount": float("inf")}, "price.amount: the number is not finite"),
        (OR_NULL, {"amount": 2}, "price.currency: this required member is missing"),
        ({"type": "array", "items": REF}, [PRICE, {"amount": 2}], r"price\[1\].currency: this required member"),
        ({"allOf": [REF, {"required": ["gross"]}]}, PRICE, "price.gross: this required member is missing"),
        ({"enum": ["a", "b"]}, "c", "price: .*Give one of: a, b"),
        ({"type": "string", "format": "date"}, "next friday", "price: the value is no date. Write it as 2026-03-31"),
    ],
)  # fmt: skip
def test_what_is_wrong_inside_a_value_is_refused_by_its_path(schema: Any, value: Any, said: str) -> None:
    with pytest.raises(ToolRequestError, match=said) as caught:
        priced(schema, value)
    assert "GBP" not in str(caught.value)


@pytest.mark.parametrize(
    ("own", "server", "url"),
    [
        ("https://a.test/v1/", "", "https://a.test/v1/x"),
        ("https://a.test/v1", "http://127.0.0.1:80/w", "http://127.0.0.1/w/x"),
        ("/v1", "https://b.test", "https://b.test/v1/x"),
        ("/v1", "https://b.test/v1", "https://b.test/v1/x"),
        ("", "https://b.test/v2", "https://b.test/v2/x"),
    ],
)
def test_the_server(own: str, server: str, url: str) -> None:
    assert str(sent(call(servers=(own,) if own else ()), {}, server=server).url) == url


def scheme(key: str, type_: str, location: str = "", name: str = "", kind: str = "", *scopes: str) -> SecurityScheme:
    return SecurityScheme(key=key, type=type_, location=location, name=name, scheme=kind, scopes=scopes)


def one(*schemes: SecurityScheme) -> Security:
    return Security(schemes=schemes)


SECRET = "s3cr3t+/="


class TestCredentials:
    @pytest.mark.parametrize(
        ("wanted", "credential", "header", "value"),
        [
            (scheme("k", "apiKey", "header", "X-Key"), SECRET, "x-key", SECRET),
            (scheme("k", "apiKey", "cookie", "sid"), SECRET, "cookie", "sid=s3cr3t%2B%2F%3D"),
            (scheme("k", "http", kind="bearer"), SECRET, "authorization", f"Bearer {SECRET}"),
            (scheme("k", "oauth2"), SECRET, "authorization", f"Bearer {SECRET}"),
            (scheme("k", "openIdConnect"), SECRET, "authorization", f"Bearer {SECRET}"),
            (scheme("k", "http", kind="token"), SECRET, "authorization", f"Token {SECRET}"),
            (scheme("k", "http", kind="basic"), ("me", SECRET), "authorization",
             "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()),
            (scheme("k", "http", kind="basic"), f"me:{SECRET}", "authorization",
             "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()),
        ],
    )  # fmt: skip
    def test_where_each_goes(self, wanted: SecurityScheme, credential: Any, header: str, value: str) -> None:
        request = sent(call(security=(one(wanted),)), {}, credentials={"k": credential})
        assert request.headers[header] == value
        assert dict(request.public_headers())[header] == "***"
        assert "3cr3t" not in repr(request)

    def test_a_key_in_the_query_is_not_shown(self) -> None:
        made = call(place("q"), security=(one(scheme("k", "apiKey", "query", "key")),))
        request = sent(made, {"q": "a"}, credentials={"k": SECRET})
        assert request.url.params["key"] == SECRET
        assert request.public_url == f"{SERVER}/x?q=a&key=***"
        assert "3cr3t" not in repr(request)

    def test_the_first_alternative_that_is_satisfied(self) -> None:
        both = one(scheme("a", "apiKey", "header", "A"), scheme("b", "apiKey", "header", "B"))
        made = call(security=(both, one(scheme("c", "http", kind="bearer"))))
        assert sent(made, {}, credentials={"a": "1", "c": "3", "other": "9"}).headers["authorization"] == "Bearer 3"
        request = sent(made, {}, credentials={"a": "1", "b": "2", "c": "3"})
        assert (request.headers["a"], request.headers["b"]) == ("1", "2")
        assert "authorization" not in request.headers

    def test_what_is_missing_is_listed(self) -> None:
        made = call(security=(one(scheme("a", "oauth2", "", "", "", "read", "write"), scheme("t", "mutualTLS")),
                              one(scheme("b", "apiKey", "query", "key")), one(scheme("c", "aws4"))))  # fmt: skip
        with pytest.raises(ToolRequestError) as caught:
            sent(made, {}, credentials={"b2": SECRET, "c": "x"})
        text = str(caught.value)
        assert "'a' (oauth2, scopes read write) with 't' (mutualTLS)" in text
        assert " or 'b' (apiKey in the query key)" in text
        assert "'c' (aws4; egotools does not put this type into a request)" in text
        assert "3cr3t" not in text


KEYS: list[tuple[str, str, Any, str]] = [
    ("v2", "Edm.String", "O'Neil/1", "'O''Neil%2F1'"),
    ("v4", "Edm.String", "4500012345", "'4500012345'"),
    ("v2", "Edm.Int32", 7, "7"),
    ("v2", "Edm.Int64", "7", "7L"),
    ("v4", "Edm.Int64", 7, "7"),
    ("v2", "Edm.Decimal", "1.50", "1.50M"),
    ("v4", "Edm.Decimal", "1.50", "1.50"),
    ("v2", "Edm.Double", 1.5, "1.5d"),
    ("v2", "Edm.Boolean", True, "true"),
    ("v2", "Edm.Guid", "6f9619ff-8b86-d011-b42d-00c04fc964ff", "guid'6f9619ff-8b86-d011-b42d-00c04fc964ff'"),
    ("v4", "Edm.Guid", "6f9619ff-8b86-d011-b42d-00c04fc964ff", "6f9619ff-8b86-d011-b42d-00c04fc964ff"),
    ("v2", "Edm.DateTime", "2024-01-31", "datetime'2024-01-31T00%3A00%3A00'"),
    ("v2", "Edm.DateTimeOffset", "2024-01-31T10:00:00Z", "datetimeoffset'2024-01-31T10%3A00%3A00Z'"),
    ("v4", "Edm.DateTimeOffset", "2024-01-31T10:00:00Z", "2024-01-31T10%3A00%3A00Z"),
    ("v4", "Edm.Date", "2024-01-31", "2024-01-31"),
    ("v2", "Edm.Time", "PT10H5M", "time'PT10H5M'"),
    ("v4", "Edm.Duration", "PT10H5M", "duration'PT10H5M'"),
    ("v2", "Edm.Binary", b"\x01\xff", "X'01ff'"),
    ("v4", "Edm.Binary", "Af8=", "binary'Af8%3D'"),
    ("v4", "Sales.Color", "Red", "Sales.Color'Red'"),
]


class TestODataUrls:
    def test_keys(self, subtests: pytest.Subtests) -> None:
        for version, type_, value, literal in KEYS:
            with subtests.test(ascii(version)):
                made = call(
                    place("key", "path", style=type_), protocol="odata", service=version, path="/A_Order({key})"
                )
                request = sent(made, {"key": value})
                assert str(request.url) == f"{SERVER}/A_Order({literal})"
                assert request.headers["accept"] == "application/json"

    def test_comparisons_are_one_filter(self) -> None:
        made = call(place("Name", "filter", style="Edm.String"), place("Year", "filter", style="Edm.Int32"),
                    place("$filter"), place("$top"), place("$select"), protocol="odata", service="v2",
                    path="/A_Order")  # fmt: skip
        request = sent(made, {"Name": "O'Neil & Co", "Year": [2023, 2024], "$top": 5, "$select": ["A", "B/C"],
                              "$filter": "Open eq true or Late eq true"})  # fmt: skip
        assert dict(request.url.params) == {
            "$filter": "Name eq 'O''Neil & Co' and (Year eq 2023 or Year eq 2024) and (Open eq true or Late eq true)",
            "$top": "5",
            "$select": "A,B/C",
        }


def odata(location: str, type_: str) -> Call:
    path = "/A({k})" if location == "path" else "/A"
    return call(place("k", location, style=type_), protocol="odata", service="v2", path=path)


QUERY = call(place("q"))
BEARER = call(security=(one(scheme("k", "http", kind="bearer")),))
REFUSED: list[tuple[Call, dict[str, Any], dict[str, Any], str]] = [
    *(
        (call(place("color", style=style)), {"color": LIST}, {}, f"color: egotools does not write the style '{style}'")
        for style in ("label", "matrix", "spaceDelimited", "pipeDelimited")
    ),
    # a value that would lead to another path
    *(
        (call(place("name", "path"), path="/v1/{+name}"), {"name": value}, {}, "name")
        for value in ("..", ".", "", "%2e%2e/x", "a/../b")
    ),
    *(
        (call(place("a", "body"), method="POST", media_type=media_type), {"a": 1}, {}, media_type)
        for media_type in ("application/xml", "multipart/mixed")
    ),
    (
        call(place("color"), place("size")),
        {"colour": "red"},
        {},
        "colour.*no such argument.*Did you mean color.*It takes: color, size",
    ),
    (call(place("id", "path"), path="/x/{id}"), {}, {}, "id: this required argument of the path is missing"),
    (
        QUERY,
        {},
        {"schema": {"properties": {"q": {}}, "required": ["q"]}},
        "q: this required argument of the query is missing",
    ),
    *(
        (QUERY, {"q": value}, {"schema": {"properties": {"q": schema}}}, f"q: .*{said}")
        for value, schema, said in (
            ("x", {"type": "integer"}, "a string, not an integer"),
            ("x", {"type": "array"}, "a string, not an array"),
            ([1], {"type": "string"}, "an array, not a string"),
            (1.5, {"type": "integer"}, "a number, not an integer"),
            ({"a": 1}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "an object, not an integer or string"),
            (float("nan"), {}, "not finite"),
            ({1, 2}, {}, "the type set"),
            ([[1]], {}, "inside another value"),
        )
    ),
    *(
        (call(servers=(own,) if own else ()), {}, {"server": server}, said)
        for own, server, said in (
            ("", "", "names no server"),
            ("/v1", "", "relative"),
            ("https://{region}.x.test", "", "variable 'region'"),
            ("", "ftp://x.test", "no address of HTTP"),
            ("", "https://me:s3cr3t@x.test", "user name or a password"),
            ("", "https://x.test?a=b", "a query"),
            ("", "https://x.test:port", "cannot be read"),
            ("//[", "", "cannot be read"),
            ("/api", "http://[", "cannot be read"),
        )
    ),
    *(
        (call(place("h", "header", wire_name=name)), {"h": "x"}, {}, "not the caller's")
        for name in ("Host", "Content-Length", "a b", "X\r\nY")
    ),
    *((call(place("h", "header")), {"h": value}, {}, "ASCII") for value in ("a\r\nX: y", "é", "\0")),
    *(
        (BEARER, {}, {"credentials": {"k": credential}}, "wrong form")
        for credential in (f"{SECRET}\r\nX: y", "", ("me", SECRET), 7)
    ),
    *(
        (odata(location, type_), {"k": value}, {}, type_)
        for location in ("path", "filter")
        for type_, value in (("Edm.Int32", "1) or (1"), ("Edm.Guid", "x' or 1 eq 1"), ("Edm.Binary", "?"))
    ),
]


@pytest.mark.parametrize(("made", "arguments", "options", "said"), REFUSED)
def test_what_cannot_be_sent_is_refused(
    made: Call, arguments: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ToolRequestError, match=said) as caught:
        sent(made, arguments, **options)
    assert "3cr3t" not in str(caught.value)
