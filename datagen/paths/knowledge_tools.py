"""The tools that answer questions of general knowledge: handbooks, policies, documents."""

from __future__ import annotations

from datagen.extended_profiles import only_reads
from datagen.patterns import load_patterns
from ingest.linking import ToolProfile, type_family
from ontology.names import noun_lemma, words
from ontology.tool import Parameter, Tool

__all__ = ["answers_general_questions"]

_MIN_FREE_TEXT = 0.8  # minimum free-text score of a search in documents


def answers_general_questions(tool: Tool, profile: ToolProfile) -> bool:
    """Whether a tool reads general knowledge: its name has such a source, or it searches documents for words.

    A tool that requires an identifier does not answer general questions. Where the name of the source is that of objects of
    a system too, such as policies on access or articles on sale, it must take a question. Found on the documents of cloud
    services.
    """
    if not only_reads(profile):
        return False
    takes_identifier = any(value.required and value.identifier for value in profile.consumes)
    named = {noun_lemma(word) for word in words(tool.name)}
    if sources := named & load_patterns("paths/words").words("sources"):
        told = bool(sources - load_patterns("paths/words").words("objects"))
        return not takes_identifier and (told or any(map(_takes_question, tool.parameters)))
    searches = profile.action == "search" and profile.free_text >= _MIN_FREE_TEXT and not takes_identifier
    return searches and bool(named & load_patterns("paths/words").words("documents"))


def _takes_question(parameter: Parameter) -> bool:
    """Whether an input is for the words of a question."""
    named = set(map(noun_lemma, words(parameter.name)))
    return (
        type_family(parameter.type) == "string"
        and bool(named)
        and named <= load_patterns("paths/words").words("questions")
    )
