"""Registered labels of hosts: what tells an owner, and what does not."""

from ingest.linking.subjects import registered_label

LABELS = {
    "https://api.acme.com/v1": "acme",
    "https://user@billing.acme.co.uk:8443/x": "acme",
    "blue-yonder.io": "blueyonder",
    "https://alpha.azurewebsites.net": "alpha",
    "https://eu.alpha.herokuapp.com": "alpha",
    "calendar.googleapis.com": "googleapis",
    "https://com.com": "com",
    "http://192.168.1.10/v1": "",
    "10.0.1.10": "",
    "http://localhost:80": "",
    "https://x.execute-api.eu-1.amazonaws.com": "",
    "": "",
    "crm": "",
}


def test_the_label_that_somebody_registered() -> None:
    assert {address: registered_label(address) for address in LABELS} == LABELS
