from __future__ import annotations

import pytest

from ontology.errors import InvalidArgumentError
from ontology.hosts import check_http_url


@pytest.mark.parametrize("url", ["", "host:80", "ftp://host", "http://", "http://host:0", "http://[::1", "http://h:x"])
def test_what_is_no_address_is_a_typed_error(url: str) -> None:
    with pytest.raises(InvalidArgumentError, match="not an http or https address") as caught:
        check_http_url(url, subject="--llm-url")
    assert caught.value.subject == "--llm-url"


def test_an_address_passes_as_it_is() -> None:
    assert check_http_url("https://user:pass@host/v1?x=1", subject="url") == "https://user:pass@host/v1?x=1"
