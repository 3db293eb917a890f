from __future__ import annotations

import pytest

from ontology.errors import InvalidArgumentError
from ontology.urls import check_http_url, redacted_url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:pass@host:8443/v1/?key=1#x", "https://host:8443/v1/"),
        ("http://[::1]:80/rerank", "http://[::1]:80/rerank"),
        ("http://token@host", "http://host"),
        ("HTTP://user:p@ss@host?key=1", "http://host"),
        ("mcp+http://user:pass@[not/an/address#key", "mcp+http://[not/an/address"),
    ],
)
def test_a_redacted_address_has_no_secrets(url: str, shown: str) -> None:
    assert redacted_url(url) == shown


@pytest.mark.parametrize("url", ["", "host:80", "ftp://host", "http://", "http://host:0", "http://[::1", "http://h:x"])
def test_what_is_no_address_is_a_typed_error(url: str) -> None:
    with pytest.raises(InvalidArgumentError, match="not an http or https address") as caught:
        check_http_url(url, subject="--llm-url")
    assert caught.value.subject == "--llm-url"


def test_an_address_passes_as_it_is() -> None:
    assert check_http_url("https://user:pass@host/v1?x=1", subject="url") == "https://user:pass@host/v1?x=1"
