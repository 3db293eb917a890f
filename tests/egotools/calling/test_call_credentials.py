"""Which credentials go with a call: to the caller's own base URL, or to the server that a document names where they name it too."""

import pytest

from egotools import Call, Security, SecurityScheme, ToolRequestError
from egotools.calling.call_credentials import bound_credentials

ALL = {"key": "1", "hr.key": "2", "shop.key": "3"}


def call_of(key: str, *servers: str) -> Call:
    schemes = (SecurityScheme(key=key, type="apiKey", name="X"),)
    return Call(protocol="http", servers=servers, security=(Security(), Security(schemes=schemes)))


@pytest.mark.parametrize(
    ("scheme", "given", "namespace", "server", "bound"),
    [
        ("key", ALL, "hr", "https://a.test", "2"),
        ("key", ALL, "x", "https://a.test", "1"),
        ("key", {"hr.key": "2"}, "hr", "", "2"),
        ("pay.token", {"hr.pay.token@hr.test": "1"}, "hr", "", "1"),
        ("key", {"hr.key@hr.test": "1"}, "hr", "", "1"),
        ("key", {"hr.key@evil.test": "1"}, "hr", "", ""),
        ("key", {"hr.key@hr.test": "1"}, "hr", "https://inner.test", ""),
        ("key@hr.test", {"hr.key": "1"}, "hr", "", ""),  # its server is not that of most tools of hr
        ("key@hr.test", {"hr.key@HR.test": "1"}, "hr", "", "1"),
        ("key@hr.test", {"hr.key": "1"}, "hr", "https://inner.test", "1"),
        ("key", {"other.key@hr.test": "1"}, "hr", "", ""),
    ],
)
def test_a_credential_goes_where_it_was_given_for(
    scheme: str, given: dict[str, str], namespace: str, server: str, bound: str
) -> None:
    found = bound_credentials(call_of(scheme, "https://hr.test/v1"), given, namespace=namespace, server=server)
    assert found == ({scheme: bound} if bound else {})


@pytest.mark.parametrize(
    ("scheme", "given", "said"),
    [
        ("key", {"key": "1", "shop.key": "3"}, "not sent to the server that the document names"),
        ("pay.token", {"hr.pay.token": "1"}, "has a dot"),  # it is not another namespace
    ],
)
def test_a_document_gets_no_credential_that_does_not_name_it(scheme: str, given: dict[str, str], said: str) -> None:
    security = (Security(schemes=(SecurityScheme(key=scheme, type="apiKey", name="X"),)),)
    with pytest.raises(ToolRequestError, match=said) as caught:
        bound_credentials(
            Call(protocol="http", servers=("https://a.test",), security=security), given, namespace="hr", server=""
        )
    assert "hr.key" in caught.value.remedy or scheme != "key"
