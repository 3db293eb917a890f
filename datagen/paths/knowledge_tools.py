"""General questions: the tools that answer them, whoever asks: handbooks, policies, knowledge, documents."""

from __future__ import annotations

from ingest.linking import ToolProfile
from ontology.names import noun_lemma, words
from ontology.tool import Tool

__all__ = ["answers_general_questions"]

_SOURCES = frozenset(
    "policy knowledge handbook guideline guide faq manual wiki article documentation regulation encyclopedia wikipedia "
    "glossary definition procedure playbook news web dictionary".split()
)
_DOCUMENTS = frozenset("document page content help text information answer".split())
_READS = frozenset(("search", "list", "get"))


def answers_general_questions(tool: Tool, profile: ToolProfile) -> bool:
    """Whether a tool reads what holds for everybody: its name speaks of such a source, or it searches documents for words.

    What must be told an identifier of a thing does not answer questions in general.
    """
    if profile.action not in _READS:
        return False
    keys = [need for need in profile.consumes if need.required and need.identifier]
    named = {noun_lemma(word) for word in words(tool.name)}
    if named & _SOURCES:
        return not keys or profile.free_text > 0
    return bool(named & _DOCUMENTS) and profile.action == "search" and profile.free_text >= 0.8 and not keys
