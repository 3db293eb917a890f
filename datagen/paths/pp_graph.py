"""The P-P graph: tools with similar inputs. No data flows between them; one request may need both.

The vector of a tool is the mean of the vectors of its inputs, weighted by inverse document frequency. Only tools that
share a word in the names of their inputs are compared, so the cost is not quadratic in the size of the catalogue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datagen.measures import Histogram, histogram_of
from datagen.paths.blocking import blocks_of, compared_pairs
from datagen.profiled_catalogue import ProfiledCatalogue
from datagen.tool_links import ToolLinks
from datagen.tool_path import PathEdge
from inference.arrays import Floats1d, Floats2d
from inference.encoder import Encoder
from ingest.linking import CanonicalNames
from ontology.tool import Parameter, Tool

__all__ = ["MAX_NEIGHBOURS", "PpGraph", "Threshold", "build_pp_graph", "choose_threshold"]

MAX_NEIGHBOURS = 20
"""Maximum number of neighbours of a tool."""
_FLOOR, _CEILING = 0.6, 0.95
_SPREADS = 2.0
_BINS = 40
_DESCRIPTION_WORDS = 8
_BATCH = 1_024


class Threshold(NamedTuple):
    """A cosine in [0, 1], and how it was chosen."""

    cosine: float
    reason: str


@dataclass(frozen=True, kw_only=True)
class PpGraph:
    """The edges, and the threshold with its reason.

    :param links: source is the smaller id; confidence is the cosine of the two tools; output and parameter are their most
        similar inputs.
    :param threshold: minimum cosine of an edge.
    :param distribution: histogram of the cosines of the compared pairs.
    :param compared: number of compared pairs.
    """

    links: ToolLinks
    threshold: Threshold
    distribution: Histogram
    compared: int


def build_pp_graph(catalogue: ProfiledCatalogue, encoder: Encoder) -> PpGraph:
    """Compare the inputs of tools; each distinct input is encoded once.

    Tools without inputs have no edges.
    """
    inputs = _Inputs(catalogue.tools, catalogue.names)
    vectors = inputs.vectors(encoder)
    entities = [catalogue.profiles[tool.id].entity for tool in catalogue.tools]
    pairs, cosines = compared_pairs(blocks_of(inputs.words, entities), inputs.means(vectors))
    threshold = choose_threshold(cosines)
    alike = cosines >= threshold.cosine - 1e-6
    kept = _strongest(pairs[alike], cosines[alike], len(catalogue.tools))
    return PpGraph(
        links=ToolLinks(tuple(_edges(kept, catalogue.tools, inputs, vectors))),
        threshold=threshold,
        distribution=histogram_of(cosines, _BINS),
        compared=len(cosines),
    )


def choose_threshold(cosines: Floats1d) -> Threshold:
    """Choose the threshold: two standard deviations above the mean, in [0.6, 0.95].

    Inputs below 0.6 are not similar; above 0.95 only equal inputs are left.
    """
    if not len(cosines):
        return Threshold(_FLOOR, "no two tools share a word in the names of their inputs")
    mean, spread = float(cosines.mean()), float(cosines.std())
    chosen = min(max(mean + _SPREADS * spread, _FLOOR), _CEILING)
    bound = "" if chosen == mean + _SPREADS * spread else f", kept within {_FLOOR} and {_CEILING}"
    return Threshold(round(chosen, 4), f"mean {mean:.3f} and {_SPREADS:g} standard deviations of {spread:.3f}{bound}")


class _Inputs:
    """The inputs of the tools as distinct texts."""

    def __init__(self, tools: Sequence[Tool], names: CanonicalNames) -> None:
        self._numbers: dict[str, int] = {}
        self.of: list[NDArray[np.int64]] = []
        self.words: list[frozenset[str]] = []
        for tool in tools:
            texts = [_text(parameter, names) for parameter in tool.parameters]
            numbers = [self._numbers.setdefault(text, len(self._numbers)) for text in texts]
            self.of.append(np.asarray(numbers, dtype=np.int64))
            self.words.append(
                frozenset(word for parameter in tool.parameters for word in _name(parameter, names).split())
            )

    @property
    def texts(self) -> list[str]:
        """Each distinct text once."""
        return list(self._numbers)

    def vectors(self, encoder: Encoder) -> Floats2d:
        """Return a row of length 1 for each text, float32 [texts, D]."""
        found = np.zeros((len(self._numbers), encoder.dimensions), dtype=np.float32)
        texts = self.texts
        for start in range(0, len(texts), _BATCH):
            found[start : start + _BATCH] = encoder.encode(texts[start : start + _BATCH])
        return _normal(found)

    def means(self, vectors: Floats2d) -> Floats2d:
        """Return a row of length 1 for each tool, float32 [tools, D]; zeros for a tool without inputs."""
        frequency = Counter(int(number) for numbers in self.of for number in set(numbers.tolist()))
        idf = np.asarray(
            [np.log1p(len(self.of) / frequency[number]) for number in range(len(vectors))], dtype=np.float32
        )
        found = np.zeros((len(self.of), vectors.shape[1]), dtype=np.float32)
        for tool, numbers in enumerate(self.of):
            if len(numbers):
                found[tool] = idf[numbers] @ vectors[numbers]
        return _normal(found)


def _name(parameter: Parameter, names: CanonicalNames) -> str:
    return names.canonical(parameter.name.rsplit(".", 1)[-1])


def _text(parameter: Parameter, names: CanonicalNames) -> str:
    start = " ".join(parameter.description[:200].split()[:_DESCRIPTION_WORDS])
    name = _name(parameter, names) or parameter.name
    return f"{name}: {start}" if start else name


def _normal(rows: Floats2d) -> Floats2d:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0), dtype=np.float32)


def _strongest(pairs: NDArray[np.int64], cosines: Floats1d, tools: int) -> list[tuple[int, int, float]]:
    """Keep the most similar pairs, up to the maximum number of neighbours of each tool; sorted by tool."""
    degree = [0] * tools
    kept = []
    # Cosines are compared to six digits: further digits depend on the order of additions.
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -np.round(cosines, 6))) if len(pairs) else ()
    for place in order:
        first, second = int(pairs[place, 0]), int(pairs[place, 1])
        if degree[first] < MAX_NEIGHBOURS and degree[second] < MAX_NEIGHBOURS:
            degree[first] += 1
            degree[second] += 1
            kept.append((first, second, float(cosines[place])))
    return sorted(kept)


def _edges(
    pairs: Sequence[tuple[int, int, float]], tools: Sequence[Tool], inputs: _Inputs, vectors: Floats2d
) -> Iterator[PathEdge]:
    for one, other, cosine in pairs:
        first, second = sorted((one, other), key=lambda number: tools[number].id)
        alike = vectors[inputs.of[first]] @ vectors[inputs.of[second]].T
        row, column = divmod(int(np.round(alike, 5).argmax()), alike.shape[1])
        output, parameter = tools[first].parameters[row].name, tools[second].parameters[column].name
        yield PathEdge(
            kind="P-P", source=tools[first].id, target=tools[second].id, output=output, parameter=parameter,
            confidence=round(min(max(cosine, 0.0), 1.0), 4),
            reason=f"their inputs are alike, {output} and {parameter} most",
        )  # fmt: skip
