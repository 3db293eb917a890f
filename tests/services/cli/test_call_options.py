"""The options of every command that calls tools: what they allow."""

import pytest

from egotools import Call, Security, SecurityScheme, ToolRequestError
from egotools.calling.call_credentials import bound_credentials
from ontology.errors import InvalidArgumentError
from services.cli.options import CallOptions

KEY = Call(protocol="http", security=(Security(schemes=(SecurityScheme(key="key", type="apiKey", name="X"),)),))


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "s3cr3t-value")


@pytest.mark.parametrize(
    ("options", "subject", "said"),
    [
        (CallOptions(sessions=("a=mcp:a", "b=mcp:b"), env=("T=${SECRET}",)), "--env T", "not known to which session"),
        (CallOptions(sessions=("a=mcp:a",), headers=("c.T=${SECRET}",)), "--header c.T", "not known to which session"),
        (CallOptions(headers=("T=${SECRET}",)), "--header T", "not known to which session"),
        (CallOptions(sessions=("a=mcp:a", "a=mcp:b")), "--session", "two addresses"),
        (CallOptions(allow_networks=("10.0.0.1/8",)), "--allow-network", "no network"),
        (CallOptions(credentials=("key=s3cr3t-value",)), "--credential ***", "not taken from the command line"),
        (CallOptions(base_urls=("shop",)), "--base-url", "no address"),
    ],
)
def test_what_is_in_another_form_is_refused(options: CallOptions, subject: str, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said) as caught:
        options.access()
    assert caught.value.subject == subject
    assert "s3cr3t" not in str(caught.value)


class TestBoundCredentials:
    def test_to_the_base_url_of_the_caller(self) -> None:
        given = {"key": "1", "hr.key": "2", "shop.key": "3"}
        assert bound_credentials(KEY, given, namespace="hr", server="https://a.test") == {"key": "2"}
        assert bound_credentials(KEY, given, namespace="x", server="https://a.test") == {"key": "1"}

    def test_a_key_with_a_dot_is_not_another_namespace(self) -> None:
        scheme = SecurityScheme(key="pay.token", type="apiKey", name="X")
        call = Call(protocol="http", servers=("https://a.test",), security=(Security(schemes=(scheme,)),))
        with pytest.raises(ToolRequestError, match="has a dot"):
            bound_credentials(call, {"hr.pay.token": "1"}, namespace="hr", server="")
        pinned = {"hr.pay.token@a.test": "1"}
        assert bound_credentials(call, pinned, namespace="hr", server="") == {"pay.token": "1"}

    def test_to_a_server_of_a_document_only_by_its_name(self) -> None:
        assert bound_credentials(KEY, {"hr.key": "2"}, namespace="hr", server="") == {"key": "2"}
        with pytest.raises(ToolRequestError, match="not sent to the server that the document names") as caught:
            bound_credentials(KEY, {"key": "1", "shop.key": "3"}, namespace="hr", server="")
        assert "hr.key" in caught.value.remedy

    @pytest.mark.parametrize(
        ("scheme", "given", "server", "bound"),
        [
            ("key", "hr.key", "", True),
            ("key", "hr.key@hr.test", "", True),
            ("key", "hr.key@evil.test", "", False),
            ("key", "hr.key@hr.test", "https://inner.test", False),
            ("key@hr.test", "hr.key", "", False),  # its server is not that of most tools of hr
            ("key@hr.test", "hr.key@HR.test", "", True),
            ("key@hr.test", "hr.key", "https://inner.test", True),
            ("key", "other.key@hr.test", "", False),
        ],
    )
    def test_of_a_host(self, scheme: str, given: str, server: str, bound: bool) -> None:
        schemes = (SecurityScheme(key=scheme, type="apiKey", name="X"),)
        call = Call(protocol="http", servers=("https://hr.test/v1",), security=(Security(), Security(schemes=schemes)))
        found = bound_credentials(call, {given: "1"}, namespace="hr", server=server)
        assert found == ({scheme: "1"} if bound else {})
