"""Turn Python functions into tools, and ask which of them a request needs.

Run it from the folder of the checkout:

    .venv/bin/python examples/own_tools_from_python.py

egotools reads the name, the docstring and the type hints of each function. It does not call a function, except where
this program does so itself at the end.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

# The tools are the names in __all__. Without __all__ they are all public functions of the module.
__all__ = ["convert_currency", "find_customer", "list_open_invoices", "send_payment_reminder"]


@dataclass
class Customer:
    """A customer."""

    customer_id: str
    name: str


@dataclass
class Invoice:
    """An invoice that is not paid yet."""

    invoice_id: str
    amount: float


def find_customer(name: str) -> Customer:
    """Find a customer by name.

    :param name: the name of the customer, or a part of it.
    """
    return Customer(customer_id="C-17", name=name)


def list_open_invoices(customer_id: str) -> list[Invoice]:
    """List the open invoices of a customer.

    :param customer_id: the id of the customer.
    """
    return [Invoice(invoice_id=f"{customer_id}/1", amount=120.0)]


def send_payment_reminder(invoice_id: str, text: str = "Please pay.") -> bool:
    """Send a payment reminder for an invoice.

    :param invoice_id: the id of the invoice.
    :param text: what the reminder says.
    """
    return bool(invoice_id and text)


def convert_currency(amount: float, source: str, target: str) -> float:
    """Convert an amount of money from one currency to another."""
    return amount if source == target else amount * 1.1


REQUEST = "send Acme a reminder for its open invoices"


def main() -> None:
    """Build a snapshot of the functions above, search it, and call what was found."""
    from inference import DEFAULT_ENCODER, load_encoder
    from retrieval.engine import open_engine
    from retrieval.query.request import Request
    from services.jobs.build import build_snapshot

    encoder = load_encoder(DEFAULT_ENCODER)
    module = Path(__file__).stem  # the address of the tools is python:MODULE, or python:MODULE:FUNCTION for one
    with tempfile.TemporaryDirectory() as folder:
        report = build_snapshot([f"python:{module}"], Path(folder), encoder=encoder)
        print(f"Snapshot {report.snapshot_id} has {report.tools} tools.")
        answer = open_engine(Path(folder), encoder=encoder).retriever().retrieve(Request(query=REQUEST, k=3))

    print(f"\n{REQUEST}")
    for tool in answer.tools:
        print(f"{tool.rank}  {tool.id}")
        for binding in tool.reasons.bindings:
            source = f"{binding.output} of {binding.supplier}" if binding.supplier else "not known"
            print(f"     {binding.parameter}: {source}")

    # The bindings above say in which order the tools run: the output of one is an input of the next.
    for invoice in list_open_invoices(find_customer("Acme").customer_id):
        print(f"\nReminder for {invoice.invoice_id} sent: {send_payment_reminder(invoice.invoice_id)}")


if __name__ == "__main__":
    main()
