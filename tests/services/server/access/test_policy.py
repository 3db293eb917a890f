"""The access policy: which rule is for whom, what it gives, and what is refused as no policy."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ontology.errors import InvalidArgumentError
from retrieval.engine import open_engine
from services.server.access.authentication import Authentication, warn_of_unknown_filters
from services.server.access.policy import read_policy
from services.server.access.tokens import Identity
from services.server.access.watched_file import WatchedFiles
from services.server.calls import Caller
from tests.harness.editions import build_editions
from tests.harness.issuers import write_policy


def caller(path: Path, identity: Identity, *rules: dict[str, Any]) -> Caller | None:
    return read_policy(write_policy(path / "policy.yaml", *rules)).caller(identity)


def web(**claims: Any) -> Identity:
    return Identity(kind="jwt", name="me", claims=claims)


READ = {"roles": ["read"]}


def test_the_first_rule_that_matches_decides(tmp_path: Path) -> None:
    rules = (
        {"match": {"claims": {"groups": "agents", "env": ["prod", "test"]}}, **READ, "tenants": ["a", "b"]},
        {"match": {"claims": {"groups": "*"}}, "roles": ["read", "metrics"], "tenants": ["*"]},
        {"match": {"token": "me"}, "roles": ["admin"]},
    )
    found = caller(tmp_path, web(groups=["x", "agents"], env="test"), *rules)
    assert found == Caller(name="me", roles=frozenset({"read"}), tenants=frozenset({"a", "b"}))
    found = caller(tmp_path, web(groups=["x"]), *rules)
    assert found is not None and found.tenants is None and found.roles == {"read", "metrics"}
    assert caller(tmp_path, web(env="prod"), *rules) is None
    found = caller(tmp_path, Identity(kind="token", name="me"), *rules)
    assert found is not None and (set(found.roles), set(found.tenants or ())) == ({"admin"}, {""})


PATTERNS: list[tuple[str, dict[str, bytes], bool]] = [
    ("cn:admin", {"x509_common_name": b"admin"}, True),
    ("cn:admin", {"peer_uri": b"spiffe://x", "x509_common_name": b"admin"}, True),
    ("cn:admin", {"x509_common_name": b"admin2"}, False),
    *(
        (pattern, {kind: name}, False)
        for pattern, name in [("cn:admin", b"CN=admin"), ("cn:admin", b"admin"), ("cn:admin", b"cn:admin")]
        for kind in ("peer_dns", "peer_uri", "peer_email", "peer_ip", "x509_subject_alternative_name")
    ),
    *(
        (pattern, {kind: b"spiffe://company/ci/7"}, kind == "peer_uri")
        for pattern in ("uri:spiffe://company/ci/*", "uri:spiffe://company/ci/7", "uri:*")
        for kind in ("peer_uri", "peer_dns", "peer_email", "x509_common_name")
    ),
    *(
        (pattern, {"peer_uri": f"spiffe://company/ci/{path}".encode()}, False)
        for path in ("../ops", "a/./b", "..", "%2e%2E/x", "a%2f..%2fb", "%252e%252e/x", "%%32e./x", "a\\..\\b")
        for pattern in ("uri:spiffe://company/ci/*", f"uri:spiffe://company/ci/{path}")
    ),
    ("uri:spiffe://company/ci/*", {"peer_uri": b"spiffe://company/ci/a.b/..c"}, True),
    ("dns:agent.example", {"peer_dns": b"agent.example"}, True),
    ("dns:agent.example", {"peer_uri": b"agent.example"}, False),
    ("email:bot@corp.example", {"peer_email": b"bot@corp.example"}, True),
    ("ip:10.0.0.*", {"peer_ip": b"10.0.0.1"}, True),
    ("ip:10.0.0.*", {"peer_dns": b"10.0.0.1"}, False),
]


def test_a_pattern_matches_names_of_its_kind(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for pattern, context, admitted in PATTERNS:
        with subtests.test(ascii(pattern)):
            file = write_policy(tmp_path / "policy.yaml", {"match": {"certificate": pattern}, **READ})
            rules = WatchedFiles("access policy", [file], partial(read_policy, file))
            authentication = Authentication(rules=rules, certificates=True)
            identity = authentication.certificate(
                {"x509_common_name": [b"x"], **{key: [name] for key, name in context.items()}}
            )
            assert (read_policy(file).caller(identity) is not None) == admitted


def test_claims_in_claims_and_scopes(tmp_path: Path) -> None:
    rule = {"match": {"claims": {"realm_access.roles": "reader", "scope": "tools.read"}}, **READ}
    assert caller(tmp_path, web(realm_access={"roles": ["reader"]}, scope="openid tools.read"), rule) is not None
    assert caller(tmp_path, web(realm_access={"roles": ["reader"]}, scope="tools.reader"), rule) is None
    assert caller(tmp_path, web(realm_access="reader", scope="tools.read"), rule) is None


def test_claims_name_tenants_and_values_of_filters_but_no_patterns(tmp_path: Path) -> None:
    rule = {
        "match": {"claims": {"iss": "*"}},
        **READ,
        "tenants": ["{org}"],
        "filters": {"department": ["{dep}", "shared"], "stage": ["!draft"]},
        "exclude": {"department": ["Finance", "fin*"], "id": ["hr/pay*"]},
    }
    found = caller(tmp_path, web(iss="x", org="acme", dep=["sales", "!hr", "fin*", "*"]), rule)
    assert found is not None
    assert set(found.tenants or ()) == {"acme"}
    assert found.filters == {
        "department": ("sales", "shared", "!Finance", "!fin*"),
        "stage": ("!draft",),
        "id": ("!hr/pay*",),
    }
    for claims in ({"org": "acme"}, {"dep": "sales"}, {"org": "*", "dep": "x"}, {"org": "", "dep": "x"}):
        assert caller(tmp_path, web(iss="x", **claims), rule) is None


NO_POLICIES: list[tuple[str, str]] = [
    ("rules: []", "version"),
    ("version: 1\nrules: []", "rules"),
    ("version: 2\nrules: [{match: {token: a}, roles: [read]}]", "version"),
    ("version: 1\nrules: [{match: {token: a}, roles: [reed]}]", "roles"),
    ("version: 1\nrules: [{match: {token: a}, roles: []}]", "roles"),
    ("version: 1\nrules: [{match: {}, roles: [read]}]", "one of claims, token, certificate"),
    ("version: 1\nrules: [{match: {token: a, certificate: 'cn:a'}, roles: [read]}]", "one of claims"),
    ("version: 1\nrules: [{match: {certificate: 'uri:'}, roles: [read]}]", "write the kind of the name"),
    ("version: 1\nrules: [{match: {certificate: CN=a}, roles: [read]}]", "write the kind of the name"),
    ("version: 1\nrules: [{match: {token: a}, roles: [read], filter: {}}]", "filter"),
    ("version: 1\nrules: [{match: {token: a}, roles: [read], filters: {a: []}}]", "filter"),
    ("version: 1\nrules: [{match: {token: a}, roles: [read, admin], filters: {a: [b]}}]", "whole catalogue"),
    ("version: 1\nrules: [{match: {token: a}, roles: [read, admin], exclude: {a: [b]}}]", "whole catalogue"),
    ("version: 1\nrules: [{match: {token: a}, roles: [read], exclude: {a: ['!b']}}]", "without !"),
    ("version: 1\nrules: [{match: {claims: {a: b}}, roles: [read], exclude: {k: ['{a}']}}]", "without !"),
    ("version: 1\nrules: [{match: {token: a}, roles: [read], excludes: {a: [b]}}]", "excludes"),
    ("version: 1\nrules: [{match: {token: a}, roles: [read], filters: {a: [b]}, filters: {}}]", "twice"),
    ("version: 1\nrules: [{match: {token: a}, roles: [read], tenants: []}]", "tenants"),
    ("version: 1\nrules: [{match: {claims: {a: b}}, roles: [read], tenants: ['x{a}']}]", "stands alone"),
    ("version: 1\nrules: [{match: {claims: {a: b}}, roles: [read], filters: {k: ['{a']}}]", "stands alone"),
    ("version: 1\nrules: [{match: {token: a}, roles: [read], tenants: ['{a}']}]", "needs a match of claims"),
    ("version: 1\nrules: [{match: &m {token: a}, roles: [read], filters: {<<: *m}}]", "write its keys out"),
    ("version: 1\nrules: " + "[" * 400_000, "too deeply"),
    ("%TAG !x! b\n---\nversion: !x!y 1", "%TAG"),
    ("version: " + "1:" * 400_000 + "1", "no number"),
    ("version: !!bool x", "not of its tag"),
    ("? [a]\n: 1", "a key is not a text"),
    ("- 1", "policy"),
    ("{", "policy"),
]


def test_what_is_no_policy_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for text, problem in NO_POLICIES:
        with subtests.test(ascii(text[:99])):
            path = tmp_path / "policy.yaml"
            path.write_text(text)
            with pytest.raises(InvalidArgumentError, match=problem):
                read_policy(path)


def test_a_filter_that_no_tool_has_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = build_editions(tmp_path / "store", "alpha")
    policy = write_policy(
        tmp_path / "policy.yaml",
        {"name": "good", "match": {"token": "a"}, "roles": ["read"], "filters": {"namespace": ["shop"]}},
        {"name": "typo", "match": {"token": "b"}, "roles": ["read"], "filters": {"namespace": ["shpo"]}},
        {"name": "key", "match": {"token": "c"}, "roles": ["read"], "tenants": ["*"], "filters": {"nmespace": ["x"]}},
        {"name": "else", "match": {"token": "d"}, "roles": ["read"], "tenants": ["t"], "filters": {"nmespace": ["x"]}},
        {"name": "hidden", "match": {"token": "e"}, "roles": ["read"], "exclude": {"id": ["shop/*", "shpo/*"]}},
    )
    warn_of_unknown_filters(read_policy(policy), "acme", open_engine(store.path))
    said = [record.__dict__["fields"] for record in caplog.records if record.name == "egotools.access"]
    assert [(each["tenant"], each["rule"], each["key"]) for each in said] == [
        ("acme", "typo", "namespace"),
        ("acme", "key", "nmespace"),
        ("acme", "hidden", "id"),
    ]
