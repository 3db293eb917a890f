"""The name of a tool, parsed: its verb, candidates for its object, and what stands after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datagen.generation.data_files import word_classes
from datagen.generation.lexicon import Lexicon
from ingest.linking import canonical_names, local_name, path_steps
from ontology.names import words
from ontology.ontology import Ontology
from ontology.tool import Tool

__all__ = ["ParsedName", "parse_name", "path_collections"]

_WORDS = word_classes("tool_frame")
_METHOD_VERBS = {"get": "", "post": "create", "put": "update", "patch": "update"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedName:
    """The parts of a tool's name.

    :param verb: in its base form, or empty.
    :param objects: candidates for the canonical name of its object, the best first.
    :param object_words: the words of the object as the name has them.
    :param tail: a purpose after the object (``for signature``), or empty.
    """

    verb: str
    objects: tuple[str, ...]
    object_words: tuple[str, ...]
    tail: str = ""


def parse_name(tool: Tool, lexicon: Lexicon, ontology: Ontology) -> ParsedName:
    """The parts of a tool's name; a name that only repeats the path of its endpoint is parsed by the path."""
    names = canonical_names(ontology)
    tokens = [word for segment in local_name(tool).split(".")[-1:] for word in words(segment)]
    steps = path_steps(tool, names)
    if steps and tokens and tokens[0] in _WORDS["http_methods"] and _is_path(tokens[1:], tool):
        collections = [step.text for step in steps if not step.placeholder and step.text not in _WORDS["list_verbs"]]
        if any(step.placeholder for step in steps):
            collections = collections[-1:]
        verb = _METHOD_VERBS.get(tokens[0], tokens[0])
        return ParsedName(verb=verb, objects=_path_objects(collections, lexicon), object_words=tuple(tokens[-1:]))
    verb, rest = _split_verb(tokens, lexicon)
    if not rest and "." in tool.name:
        rest = words(tool.name.split(".")[-2])
    cut = next((i for i, token in enumerate(rest) if token in _WORDS["prepositions"]), len(rest))
    before, after = _content(rest[:cut]), _content(rest[cut + 1 :])
    tail = f"for {after[0]}" if not before and len(after) == 1 and rest[cut] == "for" else ""
    if not before and not tail:
        before, after = after, []
    title = _content([word for word in words(tool.title) if word != verb and not lexicon.verb(word)])
    whole = [rest] if cut < len(rest) else []
    objects = tuple(names.join(phrase) for phrase in (*whole, *filter(None, (before, title, after))))
    return ParsedName(verb=verb, objects=objects, object_words=tuple(rest[:cut]), tail=tail)


def path_collections(tool: Tool, ontology: Ontology) -> list[str]:
    """The fixed steps of the path of a tool's endpoint, as canonical names."""
    return [step.text for step in path_steps(tool, canonical_names(ontology)) if not step.placeholder]


def _is_path(tokens: Sequence[str], tool: Tool) -> bool:
    """Whether a name repeats its path: ``GET_movie-movie_id-credits``."""
    return set(tokens) == {word for word in words(str(tool.metadata.get("path", ""))) if not word.isdigit()}


def _path_objects(collections: Sequence[str], lexicon: Lexicon) -> tuple[str, ...]:
    """Candidates for the object of a path: of ``/person/x/movie_credits`` movie credit."""
    specific = [name for name in collections if name not in lexicon.qualifiers]
    return tuple(name for name in (" ".join(specific[-2:]), *reversed(specific)) if name)


def _split_verb(tokens: list[str], lexicon: Lexicon) -> tuple[str, list[str]]:
    """The verb, and the other words; it stands first, or last where it cannot be a noun (``project cost report``)."""
    if tokens and (verb := lexicon.verb(tokens[0])):
        return verb, tokens[1:]
    if tokens and tokens[-1] not in lexicon.nouns and (verb := lexicon.verb(tokens[-1])):
        return verb, tokens[:-1]
    return "", tokens


def _content(tokens: Sequence[str]) -> list[str]:
    """The words that may name a thing."""
    kept = [token for token in tokens if token not in _WORDS["fillers"] and not token.isdigit()]
    kept = [token for token in kept if token not in _WORDS["own"]] or kept
    cut = next((i for i, token in enumerate(kept) if i and token in _WORDS["prepositions"]), len(kept))
    return kept[:cut]
