"""Calling tools that are Python functions."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import importlib
import inspect
import numbers
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

import pydantic_core

from egotools import PythonCall, Tool, ToolRequestError
from egotools.calling.invoker import MAX_BYTES, TIMEOUT_S, ToolAnswer, too_large, too_slow

__all__ = ["PythonInvoker"]

_MOST_RUNNING = 16  # threads, those that were given up among them


class PythonInvoker:
    """Calls functions of modules that the caller has named, each in a thread of its own; coroutine functions are awaited.

    A tool's document names its function, and a document is not trusted: only functions that a named module defines, or lists in
    ``__all__``, are called. What a function raises is an answer that is not ``ok``. A thread cannot be stopped: one that takes too
    long is given up and goes on, and while too many do so, further calls wait.

    :param modules: names of modules, exactly.
    :param objects: module → object whose methods stand for the module's functions (an open mailbox, say).
    """

    def __init__(
        self,
        modules: Collection[str],
        *,
        objects: Mapping[str, object] | None = None,
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._objects = dict(objects or {})
        self._modules = frozenset(modules) | set(self._objects)
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._room = asyncio.Semaphore(_MOST_RUNNING)

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`egotools.calling.invoker.ToolInvoker`. The body is a copy, as JSON values, of what the function returned."""
        request = tool.request(arguments)
        if not isinstance(request, PythonCall):
            raise ToolRequestError(
                "this tool is no Python function", subject=tool.id, remedy="Call it by its protocol."
            )
        function = self._function(request.function)
        deadline = asyncio.timeout(self._timeout_s)
        try:
            async with deadline:
                encoded = await self._encoded(function, request.arguments)
        except Exception as error:  # of the function, or of a value that is no JSON
            if deadline.expired():
                raise too_slow(tool.id, self._timeout_s) from None
            return ToolAnswer(ok=False, status="error", body=f"{type(error).__name__}: {error}")
        if len(encoded) > self._max_bytes:
            raise too_large(tool.id, self._max_bytes)
        return ToolAnswer(ok=True, status="ok", body=pydantic_core.from_json(encoded), size=len(encoded))

    async def _encoded(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> bytes:
        """Call a function and return what it returns as JSON."""
        if inspect.iscoroutinefunction(function):
            return _json(await function(**arguments))

        def call() -> Any:
            value = function(**arguments)
            return value if inspect.isawaitable(value) else _json(value)

        await self._room.acquire()
        value = await _in_thread(call, self._room.release)
        return _json(await value) if inspect.isawaitable(value) else value

    def _function(self, name: str) -> Callable[..., Any]:
        """Return the function ``module:name`` of an allowed module.

        :raises ToolRequestError: when it is none.
        """
        module_name, _, path = name.partition(":")
        if module_name not in self._modules:
            known = ", ".join(sorted(self._modules)) or "none"
            raise ToolRequestError(
                "its module is not among those whose functions may be called",
                subject=name,
                remedy=f"Allow the module where you trust it; allowed: {known}.",
            )
        target: Any = self._objects.get(module_name)
        if target is None:
            try:
                target = importlib.import_module(module_name)
            except Exception as error:  # the module's own code may raise any
                raise ToolRequestError(
                    f"its module cannot be imported ({type(error).__name__})",
                    subject=module_name,
                    remedy="Install it, or correct its name.",
                ) from error
            first = getattr(target, path.partition(".")[0], None)  # what the module has imported would lead out of it
            if path not in getattr(target, "__all__", ()) and getattr(first, "__module__", None) != module_name:
                target = None
        for part in path.split("."):
            target = None if part.startswith("_") else getattr(target, part, None)
        if not callable(target):
            raise ToolRequestError(
                "its module has no such function of its own", subject=name, remedy="Build the snapshot again."
            )
        return target  # type: ignore[no-any-return]


def _json(value: Any) -> bytes:
    return pydantic_core.to_json(value, inf_nan_mode="null", fallback=_number)


def _number(value: Any) -> int | float:
    """Return a number of a library (numpy, mpmath) as Python's: a call that has done its work is no failure.

    :raises TypeError: when it is none.
    """
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(f"a value of the type {type(value).__name__} is none of JSON")


async def _in_thread(function: Callable[[], Any], ended: Callable[[], None]) -> Any:
    """Run a function in a daemon thread: the process can end although it hangs, which a pool's threads would prevent.

    :param ended: called in the event loop when the thread ends, also when nobody waits for it any more.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def finish(value: Any, error: Exception | None) -> None:
        ended()
        if future.cancelled():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def run() -> None:
        value: Any = None
        error: Exception | None = None
        try:
            value = context.run(function)
        except (
            BaseException
        ) as raised:  # SystemExit too: a tool does not end its caller; a future takes no StopIteration
            is_plain = isinstance(raised, Exception) and not isinstance(raised, StopIteration)
            error = raised if is_plain else RuntimeError(f"{type(raised).__name__}: {raised}")  # type: ignore[assignment]
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(finish, value, error)

    threading.Thread(target=run, name="tool", daemon=True).start()
    return await future
