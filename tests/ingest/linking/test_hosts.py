"""Registered labels of hosts: what tells an owner, and what does not."""

import pytest

from ingest.linking.subjects import registered_label


@pytest.mark.parametrize(
    ("address", "label"),
    [
        ("https://api.acme.com/v1", "acme"),
        ("https://user@billing.acme.co.uk:8443/x", "acme"),
        ("blue-yonder.io", "blueyonder"),
        ("https://alpha.azurewebsites.net", "alpha"),
        ("https://eu.alpha.herokuapp.com", "alpha"),
        ("calendar.googleapis.com", "googleapis"),
        ("https://com.com", "com"),
    ],
)
def test_the_label_that_somebody_registered(address: str, label: str) -> None:
    assert registered_label(address) == label


@pytest.mark.parametrize(
    "address",
    [
        "http://192.168.1.10/v1",
        "10.0.1.10",
        "http://localhost:80",
        "https://x.execute-api.eu-1.amazonaws.com",
        "",
        "crm",
    ],
)
def test_what_tells_no_owner(address: str) -> None:
    assert registered_label(address) == ""
