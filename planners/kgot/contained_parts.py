"""Parts of a run whose unexpected errors have names of ours, and whose answers are clean, before a journal has them: a replay then
meets the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from egotools.client_errors import ClientError, client_error_of
from inference.budget import Budget
from inference.chat import GREEDY, ChatModel, Completion, Message, Sample
from ontology.errors import EgotoolsError, ModelError, StorageError
from planners.calls.tool_finder import Finder, FoundTools
from planners.calls.untrusted import clean_text, cleaned
from planners.stores.property_graph import GraphState, Language, Operation, PropertyGraph, QueryLimits, QueryRows, Value

__all__ = ["ContainedFinder", "ContainedGraph", "ContainedModel", "said"]

_LIMITS = QueryLimits()
_CHARS = 1_000  # of an error of foreign code


def said(error: Exception) -> str:
    """Return an error in words: those of ours as they are, others with the name of their class."""
    known = isinstance(error, EgotoolsError | ClientError)
    return clean_text(str(error) if known else f"{type(error).__name__}: {error}"[:_CHARS])


@contextmanager
def _storage_errors() -> Iterator[None]:
    try:
        yield
    except EgotoolsError:
        raise
    except Exception as error:
        raise StorageError(said(error), subject="graph") from error


class ContainedGraph:
    """A graph whose engine may raise what it likes: it becomes a StorageError."""

    def __init__(self, inner: PropertyGraph) -> None:
        self._inner = inner

    @property
    def language(self) -> Language:
        """See :class:`PropertyGraph`."""
        return self._inner.language

    async def apply(self, operations: Sequence[Operation]) -> None:
        """See :class:`PropertyGraph`."""
        with _storage_errors():
            await self._inner.apply(operations)

    async def query(
        self, text: str, parameters: Mapping[str, Value] | None = None, limits: QueryLimits = _LIMITS
    ) -> QueryRows:
        """See :class:`PropertyGraph`."""
        with _storage_errors():
            return cleaned(await self._inner.query(text, parameters, limits))

    async def state(self) -> GraphState:
        """See :class:`PropertyGraph`."""
        with _storage_errors():
            return cleaned(await self._inner.state())


class ContainedFinder:
    """A search that may raise what it likes: it becomes a ClientError."""

    def __init__(self, inner: Finder) -> None:
        self._inner = inner

    async def find(self, request: str) -> FoundTools:
        """See :class:`Finder`."""
        try:
            return cleaned(await self._inner.find(request))
        except (EgotoolsError, ClientError):
            raise
        except Exception as error:
            raise client_error_of("ABORTED", said(error), subject="finder") from error


class ContainedModel:
    """A model that may raise what it likes: it becomes a ModelError."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """See :class:`ChatModel`."""
        return self._inner.name

    @property
    def budget(self) -> Budget | None:
        """That of the model, where it has one."""
        return getattr(self._inner, "budget", None)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
        max_tokens: int | None = None,
        sample: Sample = GREEDY,
    ) -> Completion:
        """See :class:`ChatModel`."""
        try:
            return self._inner.complete(
                messages, schema=schema, schema_name=schema_name, max_tokens=max_tokens, sample=sample
            )
        except EgotoolsError:
            raise
        except Exception as error:
            raise ModelError(said(error), subject=self.name) from error
