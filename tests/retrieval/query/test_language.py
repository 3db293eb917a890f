"""The language of a request: other languages are told, English requests with foreign words are not taken for them."""

from __future__ import annotations

import pytest

from inference import HashingEncoder
from retrieval.graph_retriever import GraphRetriever
from retrieval.query.language import foreign_language
from retrieval.query.request import Request
from retrieval.snapshot.reader import Snapshot

FOREIGN = {
    "Zeige mir alle offenen Bestellungen von Lieferant 4711": "German",
    "Wie viele Urlaubstage habe ich noch?": "German",
    "Montre-moi les factures impayées de ce client": "French",
    "Quels sont les vols pour Paris demain ?": "French",
    "Muéstrame todas las facturas que están pendientes": "Spanish",
    "Mostra tutte le fatture che non sono pagate": "Italian",
    "Mostre todas as faturas que não estão pagas": "Portuguese",
    "Laat alle facturen zien die nog niet betaald zijn": "Dutch",
    "Visa alla fakturor som inte är betalda": "Swedish",
    "Pokaż wszystkie faktury, które nie są zapłacone": "Polish",
    "Покажи все неоплаченные счета": "Cyrillic",
    "显示所有未付款的发票": "Chinese or Japanese characters",
    "اعرض كل الفواتير غير المدفوعة": "Arabic",
}
ENGLISH = (
    "Show me the overdue invoices of Müller & Söhne GmbH in München",
    "Book a table at El Celler de Can Roca for la familia",
    "Translate 'Wir müssen das heute noch machen' into French",
    'Send an email that says "on se voit demain chez moi pour le dîner"',
    "What does 你好 mean?",
    "Find hotels Los Angeles Las Vegas",
    "Flights Rio de Janeiro to São Paulo",
    "get_employee_by_id 4711",
    "sind",
    "INV-2024-001",
    "¿?",
    "😀😀😀",
    "",
    " ",
)


@pytest.mark.parametrize(("text", "language"), FOREIGN.items())
def test_another_language_is_told(text: str, language: str) -> None:
    assert foreign_language(text) == language


@pytest.mark.parametrize("text", ENGLISH)
def test_english_and_doubtful_requests_are_left_alone(text: str) -> None:
    assert foreign_language(text) == ""


def test_the_answer_says_it_and_has_tools(snapshot: Snapshot) -> None:
    class English(HashingEncoder):
        languages = ("English",)

    retriever = GraphRetriever(snapshot, English())
    answer = retriever.retrieve(Request(query="Finde den Lieferanten und erstelle eine Bestellung: supplier order"))
    assert answer.tools
    assert [reason for reason in answer.fallbacks if "German" in reason]
    assert not retriever.retrieve(Request(query="find the supplier")).fallbacks
