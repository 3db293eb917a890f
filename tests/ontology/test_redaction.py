import logging

import pytest

from ontology.errors import EgotoolsError
from ontology.redaction import (
    RedactingFormatter,
    redact,
    redact_document_text,
    redacted_address,
    redacted_url,
    secrets_in,
)

LONG = "S3CRET" * 6


URLS = {
    "https://user:pass@host:8443/v1/?key=1#x": "https://host:8443/v1/",
    "http://[::1]:80/rerank": "http://[::1]:80/rerank",
    "http://token@host": "http://host",
    "HTTP://user:p@ss@host?key=1": "http://host",
    "mcp+http://user:pass@[not/an/address#key": "mcp+http://[not/an/address",
    "http://u:S3/CRET@h/x": "http://h/x",
    "http://u:S3CRET#x@h": "http://h",
    "http://u:S3?CRET@h:1/x?y=1": "http://h:1/x",
    "http://127.0.0.1:S3CRET/x": "http://127.0.0.1:***/x",
    "http://host:80/users/@me/openapi.json": "http://host:80/users/@me/openapi.json",
    "u:S3CRET@127.0.0.1:1": "127.0.0.1:1",
    "dns:///u:S3CRET@h:1": "dns:///h:1",
    "ipv4:10.0.0.1:50051,10.0.0.2:50051": "ipv4:10.0.0.1:50051,10.0.0.2:50051",
}


def test_a_redacted_address_has_no_secrets() -> None:
    assert {url: redacted_url(url) for url in URLS} == URLS


COMMANDS = {
    "catalog/a=b.yaml": "catalog/a=b.yaml",
    "python:module:name": "python:module:name",
    "mcp+http://u:S3CRET@h/?key=S3CRET": "mcp+http://h/",
    "mcp:python server.py --port 80": "mcp:python server.py --port 80",
    "mcp:env TOKEN=S3CRET server --api-key sk-S3CRET": "mcp:env TOKEN=*** server --api-key ***",
    "mcp:server --auth-token='S3 CRET' --max-tokens 5": "mcp:server --auth-token=*** --max-tokens 5",
    "mcp:docker run -e API=S3CRET image": "mcp:docker run -e API=*** image",
}
OTHER_COMMANDS = [
    "mcp:server --client-secret S3CRET -H 'Authorization: Bearer S3CRET'",
    "mcp:server --db-password S3CRET ghp_S3CRETS3CRET --url http://u:S3CRET@h/?key=S3CRET",
    'mcp:server --config \'{"api_key": "S3CRET"}\' TOKEN=\'S3CRET',
]


def test_a_shown_command_has_no_secrets() -> None:
    assert {address: redacted_address(address) for address in COMMANDS} == COMMANDS
    assert [address for address in OTHER_COMMANDS if "CRET" in redacted_address(address)] == []


SECRETS: list[str] = [
    "sk-S3CRETS3CRET",
    "ghp_S3CRETS3CRET",
    "glpat-S3CRETS3CRET",
    "AKIAS3CRETS3CRETS3CR",
    "xoxb-S3CRET-S3CRET",
    "eyJS3CRET.S3CRET.S3CRET",
    "-----BEGIN RSA PRIVATE KEY-----\nS3CRET\n-----END RSA PRIVATE KEY-----",
    "http://u:S3CRET@host/x?key=S3CRET",
    "http://u:S3/CRET@host/x",
    "--api-key S3CRET",
    "--access-token=S3CRET",
    "curl -s -u ann:S3CRET https://host",
    "cmd: 'curl --user \"ann:S3 CRET\" -x y'",
    "curl -su ann:S3CRET",
    "OPENAI_API_KEY=S3CRET",
    "TOKEN=S3CRET",
    "DB_PASS=CRET",
    "curl -s -u admin:hunterCRET https://host",
    "curl https://host \\\n  --proxy-user 'admin:CRET'",
    "Authorization: Bearer S3CRETS3CRET",
    "password=hunterCRET",
    "secret=S3CRET",
    'client_secret="two wordsCRET"',
    "token=abcdefCRET",
    '"password": "pass wordCRET"',
    r"{\"api_key\": \"CRETCRET\"}",
    "{'db_password': 'CRET'}",
    '"x-api-key": "CRET"',
    "password: S3CRET",
    "x-api-key: S3CRETS3CRET",
    "X-Auth-Token: abcdefghCRET,",
    "Ocp-Apim-Subscription-Key: 0123CRET",
    "Cookie: session=CRET; csrftoken=CRET",
    "Set-Cookie: sid=CRET; Path=/",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYCRET",
    '"SecretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYCRET"',
    "aws_session_token=IQoJb3JpZ2luX2VjCRET",
    "AccountName=a;AccountKey=abcdCRET==;EndpointSuffix=x",
    "SharedAccessKeyName=n;SharedAccessKey=CRET=",
    "?sv=2024&sig=abCRET%3D",
    "abC8Q~CRETCRETCRETCRETCRETCRETCRETCRET",
]


def test_a_text_has_no_secrets_of_known_shapes(subtests: pytest.Subtests) -> None:
    for secret in SECRETS:
        with subtests.test(ascii(secret)):
            error = EgotoolsError(f"it says {secret} and more", subject=f"at {secret} ")
            assert "CRET" not in str(error)
            assert "and more" in str(error)
            record = logging.LogRecord("n", logging.INFO, "f", 1, "it says %s and more", (secret,), None)
            assert "CRET" not in RedactingFormatter().format(record)


PLAIN: list[str] = [
    "http://host/openapi.json#/components/schemas/A: no such key=1",
    "Write KEY=VALUE, for example --filter department=finance",
    "neo4j:bolt://user:password@host:port",
    "the key of a task-management-tool; --max-tokens 100",
    "business_object:api key, list:books:all, a@b",
    "The secret is kept; the password: keep it, a token: it is too long, cookie: none, x-api-key: it is missing",
    "client_secret: Name a file; --token-file: cannot be read; secret=None, password=<PASSWORD>, token=${TOKEN}",
    "max_tokens=100, token_count=5, monkey=banana, keyboard: qwerty12, secrets: 54, passwords=3",
]


def test_a_text_without_secrets_stays_as_it_is() -> None:
    assert [redact(text) for text in PLAIN] == PLAIN


OF_DOCUMENTS: list[str] = [
    f"Try sk_live_{LONG} or rk_live_{LONG}.",
    f"The key is AIza{LONG}.",
    f"SG.{LONG}.{LONG}",
    f"npm_{LONG}, pypi-{LONG}, hf_{LONG}",
    f"Post to https://hooks.slack.com/services/T0{LONG}/B0{LONG}/{LONG}",
    f"AccountName=a;AccountKey={LONG}==;EndpointSuffix=x",
    f"aws_secret_access_key = {LONG}",
    f"curl -s -u admin:{LONG} https://host",
    f"curl https://host --user 'admin:{LONG}'",
    f"curl -s \\\n  -u admin:{LONG} https://host",
    f"GET https://host/file?sv=1&sig={LONG}%2B&se=1",
    f"Use token={LONG}",
    f"Send Authorization: Bearer {LONG}",
    f"-H 'Authorization: Basic {LONG}'",
    f"Basic {LONG}",
    f"Bearer {LONG}",
]


def test_a_text_of_a_document_has_no_keys() -> None:
    shown = {text: redact_document_text(text) for text in OF_DOCUMENTS}
    assert [text for text in shown if "CRET" in shown[text] or "***" not in shown[text]] == []


def test_the_secrets_of_an_address_are_found_in_other_texts() -> None:
    found = secrets_in("mcp+http://user:S3%43RET@h/x?key=K3YVALUE#FR4GMENT")
    assert redact("S3%43RET S3CRET K3YVALUE FR4GMENT h/x", found) == "*** *** *** *** h/x"
    assert secrets_in("mcp:server --token S3CRET") == ("S3CRET",)
    assert secrets_in("path/user:S3CRET@h") == ()


@pytest.mark.slow
def test_a_long_text_is_redacted_in_linear_time() -> None:
    parts = r"a|-|--key|A_|http://|eyJ|sk-|=|-----BEGIN PRIVATE KEY-----|a:|x@|secret=|pypi-|SG.|curl |curl -u |token=|&sig="
    more = r'Authorization: Basic |T1/B1/|Basic A|password: |"secret": "|\"token\": \"|x-api-key: |cookie: a=b; |x-'
    for part in f"{parts}|{more}".split("|"):
        assert len(redact(part * (100_000 // len(part)))) < 500_000
        assert len(redact_document_text(part * (100_000 // len(part)))) < 500_000
