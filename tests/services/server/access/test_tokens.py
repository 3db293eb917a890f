"""Bearer tokens: which are accepted, when, and what the policy makes of them."""

import asyncio
import base64
import gzip
import hashlib
import hmac
import json
import os
from pathlib import Path
from typing import Any

import jwt
import pytest

from ontology.errors import EgotoolsError, InvalidArgumentError, NotFoundError, NotReadyError, UnauthenticatedError
from ontology.redaction import redact
from services.server.access.tokens import (
    Identity,
    JsonWebTokens,
    StaticTokens,
    create_token,
    key_source,
    list_tokens,
    revoke_token,
)
from tests.harness.http_server import Loopback, Reply
from tests.harness.issuers import AUDIENCE, ISSUER, Issuer, key_set


def verifier(tmp_path: Path, *issuers: Issuer) -> JsonWebTokens:
    keys = tmp_path / "keys.json"
    keys.write_text(key_set(*(issuers or (Issuer(),))))
    return JsonWebTokens(find_key=key_source(str(keys)), issuer=ISSUER, audience=AUDIENCE)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
async def test_a_token_of_the_issuer_is_an_identity(tmp_path: Path, algorithm: str) -> None:
    issuer = Issuer(algorithm=algorithm)
    identity = await verifier(tmp_path, issuer, Issuer("two")).verify(issuer.token(sub="me", groups=["a"]))
    assert (identity.kind, identity.name, identity.claims["groups"]) == ("jwt", "me", ["a"])


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.example"},
        {"iss": None},
        {"aud": "another service"},
        {"aud": None},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": 1},
        {"exp": float("nan")},
        {"exp": float("inf")},
        {"nbf": 4e9},
        {"nbf": "now"},
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    issuer = Issuer()
    with pytest.raises(UnauthenticatedError):
        await verifier(tmp_path, issuer).verify(issuer.token(**changed))


def part(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def signed(issuer: Issuer, header: dict[str, Any], body: str) -> str:
    """A token with any header, also one that the library would not write."""
    text = f"{part(header)}.{body}"
    signature = jwt.get_algorithm_by_name("RS256").sign(text.encode(), issuer.key)
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


async def test_a_token_that_is_not_signed_with_a_key_of_the_set_is_refused(tmp_path: Path) -> None:
    issuer, tokens = Issuer(algorithm="RS256"), verifier(tmp_path, Issuer(algorithm="RS256"))
    claims = {"iss": ISSUER, "aud": AUDIENCE, "exp": 4e9}
    body = part(claims)
    public = json.dumps(issuer.public).encode()
    signature = hmac.new(public, f"{part({'alg': 'HS256', 'kid': 'one'})}.{body}".encode(), hashlib.sha256).digest()
    stranger = Issuer("other", algorithm="RS256")
    forged = [
        f"{part({'alg': 'none', 'kid': 'one'})}.{body}.",
        f"{part({'alg': 'None', 'kid': 'one'})}.{body}.",
        f"{part({'alg': 'HS256', 'kid': 'one'})}.{body}." + base64.urlsafe_b64encode(signature).rstrip(b"=").decode(),
        jwt.encode(claims, "secret" * 8, algorithm="HS256", headers={"kid": "one"}),
        jwt.encode(claims, stranger.key, algorithm="RS256", headers={"kid": "one"}),
        jwt.encode(claims, stranger.key, algorithm="RS256", headers={"kid": "other"}),
        jwt.encode(claims, Issuer("es", "ES256").key, algorithm="ES256", headers={"kid": "one"}),
        jwt.encode(claims, issuer.key, algorithm="RS512", headers={"kid": "one"}),
        jwt.encode(claims, stranger.key, algorithm="RS256", headers={"kid": "one", "jwk": stranger.public}),
        jwt.encode(claims, issuer.key, algorithm="RS256", headers={"kid": "one", "crit": ["b64"]}),
        signed(issuer, {"alg": "RS256", "kid": "one", "crit": ["b64"], "b64": True}, body),
        jwt.encode(claims, issuer.key, algorithm="RS256", headers={"kid": "one", "crit": ["policy"], "policy": 1}),
        jwt.encode(claims, issuer.key, algorithm="RS256", headers={"kid": "one", "crit": []}),
        jwt.encode(claims, issuer.key, algorithm="RS256", headers={"kid": "../../etc/passwd"}),
        *("", ".", "..", "a.b.c", "é.é.é", "x" * 10_000, issuer.token()[:-6], issuer.token() + ".x"),
    ]
    for token in forged:
        with pytest.raises(UnauthenticatedError):
            await tokens.verify(token)
    assert (await tokens.verify(issuer.token())).name == "someone"
    assert (await tokens.verify(signed(issuer, {"alg": "RS256", "kid": "one"}, body))).kind == "jwt"


async def test_keys_that_must_not_verify_are_left_out(tmp_path: Path) -> None:
    good, file = Issuer().public, tmp_path / "keys.json"
    hashed = {"kty": "oct", "k": "c2VjcmV0", "kid": "one", "alg": "HS256"}
    unusable: list[Any] = [hashed, {**good, "use": "enc"}, {"kty": "RSA"}, {**good, "alg": ["RS256"]}, 7]
    for document in ([], {"keys": 7}, *({"keys": [key]} for key in unusable)):
        file.write_text(json.dumps(document))
        with pytest.raises(InvalidArgumentError, match="key set"):
            key_source(str(file))
    file.write_text(json.dumps({"keys": [hashed, {"kty": "RSA"}, 7, good]}))
    assert await key_source(str(file))(good["kid"]) is not None


async def test_keys_of_an_address_are_fetched_seldom_and_kept_when_it_fails() -> None:
    one, two = Issuer("one"), Issuer("two")
    said = Reply(body=key_set(one).encode())
    with Loopback(lambda arrived: said) as served:
        seldom, often = key_source(f"{served.url}/keys"), key_source(f"{served.url}/keys", refresh_s=0.0)
        assert await seldom("one") is not None
        for unknown in range(20):
            assert await seldom(f"unknown {unknown}") is None
        assert len(served.arrived) == 1
        assert await often("two") is None
        said = Reply(body=key_set(one, two).encode())
        assert await often("two") is not None
        packed = Reply(body=gzip.compress(key_set(two).encode()), headers={"content-encoding": "gzip"})
        bad = [Reply(body=body) for body in (b"{", b'{"keys": []}', b"[" * 100_000)]
        for reply in (*bad, Reply(500), packed):
            said = reply
            assert await often("three") is None
            assert await often("one") is not None
        said = Reply(body=key_set(one, Issuer("new")).encode())
        left = asyncio.ensure_future(often("new"))
        await asyncio.sleep(0)
        left.cancel()  # who leaves does not stop the request for keys
        assert await often("new") is not None
        old = key_source(f"{served.url}/keys", max_age_s=0.0)
        assert await old("one") is not None
        said = Reply(body=key_set(two).encode())  # the first key is revoked; it serves while the keys are fetched
        while await old("one") is not None:
            await asyncio.sleep(0.005)


async def test_without_any_key_the_server_is_not_ready_and_soon_asks_again() -> None:
    said = Reply(body=b"")
    with Loopback(lambda arrived: said) as served:
        keys = key_source(f"{served.url}/keys", refresh_s=0.0)
        with pytest.raises(NotReadyError):
            await keys("one")
        said = Reply(body=key_set(Issuer()).encode())
        assert await keys("one") is not None


@pytest.mark.parametrize("place", ["http://issuer.example/keys", "ftp://127.0.0.1/keys", "file:///etc/passwd"])
def test_keys_come_over_https(place: str) -> None:
    with pytest.raises(InvalidArgumentError, match="https"):
        key_source(place)


async def test_a_static_token_is_kept_as_a_hash(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    token = create_token(path, "ci", days=1)
    secret = token.split("_", 2)[2]
    content = path.read_text()
    assert redact(f"the token {token} is wrong") == "the token *** is wrong"
    assert token not in content and secret not in content
    assert hashlib.sha256(secret.encode()).hexdigest() in content
    assert path.stat().st_mode & 0o777 == 0o600
    tokens = StaticTokens(path, poll_s=0)
    assert await tokens.verify(token) == Identity(kind="token", name="ci")
    for wrong in (token[:-1], token + "x", token[:-1] + "_", "egotools_", "egotools__", content):
        with pytest.raises(UnauthenticatedError):
            await tokens.verify(wrong)
    with pytest.raises(UnauthenticatedError, match="expired"):
        await tokens.verify(create_token(path, "gone", days=-1))


async def test_a_revoked_token_is_refused_by_a_running_server(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    first, second = create_token(path, "first"), create_token(path, "second")
    tokens = StaticTokens(path, poll_s=0)
    assert (await tokens.verify(first)).name == "first"
    revoke_token(path, "first")
    with pytest.raises(UnauthenticatedError):
        await tokens.verify(first)
    assert (await tokens.verify(second)).name == "second"
    path.write_text("{")  # not valid: what was known stays
    assert (await tokens.verify(second)).name == "second"


async def test_a_file_that_becomes_a_pipe_holds_no_call(tmp_path: Path) -> None:
    path, slow = tmp_path / "file.json", tmp_path / "slow"
    asked = create_token(path, "first")
    tokens = StaticTokens(path, poll_s=0)
    os.mkfifo(slow)  # opened, it would wait for one who writes
    slow.replace(path)
    for _ in range(3):
        assert (await tokens.verify(asked)).name == "first"


def test_the_file_of_tokens_has_each_name_once(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    create_token(path, "ci")
    for name in ("ci", "", "a b", "x" * 201, "a\nb"):
        with pytest.raises(InvalidArgumentError):
            create_token(path, name)
    with pytest.raises(NotFoundError):
        revoke_token(path, "nobody")
    assert [token.name for token in list_tokens(path)] == ["ci"]
    path.write_text('{"version": 1, "tokens": [{"name": "x"}]}')
    with pytest.raises(EgotoolsError, match="not a file of tokens"):
        list_tokens(path)
