"""The tools that answer questions of general knowledge: handbooks, policies, documents."""

from __future__ import annotations

from datagen.extended_profiles import only_reads
from datagen.patterns import load_patterns
from ingest.linking import ToolProfile
from ontology.names import noun_lemma, words
from ontology.tool import Tool

__all__ = ["answers_general_questions"]

_MIN_FREE_TEXT = 0.8  # minimum free-text score of a search in documents


def answers_general_questions(tool: Tool, profile: ToolProfile) -> bool:
    """Whether a tool reads general knowledge: its name has such a source, or it searches documents for words.

    A tool that requires an identifier does not answer general questions.
    """
    if not only_reads(profile):
        return False
    takes_identifier = any(value.required and value.identifier for value in profile.consumes)
    named = {noun_lemma(word) for word in words(tool.name)}
    if named & load_patterns("paths/words").words("sources"):
        return not takes_identifier or profile.free_text > 0
    searches = profile.action == "search" and profile.free_text >= _MIN_FREE_TEXT and not takes_identifier
    return searches and bool(named & load_patterns("paths/words").words("documents"))
