"""Baselines that keep tool answers as texts where the planner keeps a graph. All else is the planner's own: its controller, prompts, tools and limits.

Without graph: every answer stands in the prompt as one note. Simple RAG: answers are cut into chunks, and only those nearest to the task
stand in the prompt. Neither asks a model to write anything down.
"""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from inference.chat import ChatModel
from inference.encoder import Encoder
from ontology.json_values import canonical_text
from planners.kgot.kgot_settings import KgotSettings
from planners.kgot.kgot_task import MadeCall, TaskView
from planners.kgot.steps import LlmSteps
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import GraphState, InsertNode, Language, Operation, QueryLimits, QueryRows, Value

__all__ = ["CHUNK_CHARS", "NearestChunks", "NotesSteps"]

CHUNK_CHARS = 400
"""Of a chunk: about 100 tokens, of which the shipped encoder takes 128 or 256."""
_CHUNKS = 8
"""As many as a search returns tools at most."""
_LIMITS = QueryLimits()


class NotesSteps(LlmSteps):
    """The steps of a model, but for its writes: answers are written down as they are.

    :param chunk_chars: of a note; 0 for one note for each answer.
    """

    def __init__(self, model: ChatModel, settings: KgotSettings, chunk_chars: int = 0) -> None:
        super().__init__(model, model, settings=settings, language="python")
        self._chunk_chars = chunk_chars

    async def write(self, view: TaskView, missing: str, answers: Sequence[MadeCall]) -> tuple[Operation, ...]:
        """Return a node for each note."""
        return tuple(node for each in answers for node in self._nodes(each))

    def _nodes(self, call: MadeCall) -> Iterator[InsertNode]:
        text = call.body if isinstance(call.body, str) else canonical_text(call.body)
        made = canonical_text([call.tool_id, dict(call.arguments)])
        width = self._chunk_chars
        parts = textwrap.wrap(text, width, replace_whitespace=False, drop_whitespace=False) if width else [text]
        for place, part in enumerate(parts):
            yield InsertNode(label="Note", properties={"call": made, "place": place, "text": part})


class NearestChunks:
    """Implements :class:`planners.stores.property_graph.PropertyGraph`: keeps all notes and shows those nearest to the task.

    :param question: of the task.
    """

    def __init__(self, question: str, encoder: Encoder, *, chunks: int = _CHUNKS) -> None:
        self._graph = MemoryGraph()
        self._question = question
        self._encoder = encoder
        self._chunks = chunks

    @property
    def language(self) -> Language:
        """Python; it is not asked in it."""
        return "python"

    async def apply(self, operations: Sequence[Operation]) -> None:
        """Keep notes."""
        await self._graph.apply(operations)

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """See :class:`planners.stores.memory_graph.MemoryGraph`."""
        return await self._graph.query(text, parameters, limits)

    async def state(self) -> GraphState:
        """Return the nearest notes, in the order of the whole state."""
        state = await self._graph.state()
        if len(state.nodes) <= self._chunks:
            return state
        texts = [self._question, *(str(each.properties["text"]) for each in state.nodes)]
        rows_TD = await asyncio.to_thread(self._encoder.encode, texts)
        order = (rows_TD[1:] @ rows_TD[0]).argsort(kind="stable")[::-1][: self._chunks]
        return GraphState(nodes=tuple(state.nodes[at] for at in sorted(order.tolist())))
