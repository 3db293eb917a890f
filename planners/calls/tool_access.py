"""Calling tools in a safe order: policy and consent, limits of the run, retries that can do no harm, the call, a clean answer; and calling
those that are Python functions.

The policy of an operator is a file in YAML; the first rule that matches a tool decides::

    rules:
      - {namespace: finance, effect: [idempotent, change], decision: deny}
      - {tool: "hr/approve*", decision: ask}
      - {tool: "hr/*", decision: allow}

``tool`` and ``namespace`` are compared with ``*`` and ``?``; a list names alternatives; a key that is left out matches every tool.
Where no rule matches, a tool that only reads is called, and any other is asked about.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import importlib
import inspect
import numbers
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import pydantic_core
from pydantic import BeforeValidator

from egotools import (
    OverloadedError,
    PermissionDeniedError,
    PythonCall,
    RankedTool,
    Tool,
    ToolRequestError,
    UnavailableError,
)
from egotools.calling.address_guard import Network
from egotools.calling.http_invoker import HttpInvoker
from egotools.calling.invoker import MAX_BYTES, TIMEOUT_S, ToolAnswer, ToolInvoker, too_large, too_slow
from egotools.calling.mcp_invoker import McpAddress, McpInvoker
from egotools.calling.mcp_session import StrongerEffectError, not_confirmed
from inference.retry import RetryPolicy, parse_retry_after
from ontology.errors import InvalidArgumentError
from ontology.tool_effects import Effect
from ontology.yaml_file import Rows, accepted, read_model, value_fault
from planners.calls.untrusted import cleaned
from planners.journal.step_log import on_a_thread

# Whether a call may be made: of a terminal, of a page, or always and never
Ask: TypeAlias = Callable[[Tool, Mapping[str, Any]], Awaitable[bool]]
Decision: TypeAlias = Literal["allow", "ask", "deny"]


def _listed(given: Any) -> Any:
    """One or several, of a file; what is empty would match every tool, or none."""
    listed = (given,) if given is None or isinstance(given, str) else given
    if isinstance(listed, (list, tuple)) and not (listed and all(listed)):
        raise value_fault("{} is empty", "name what it matches, or leave the key out")
    return listed


_Patterns: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_listed)]

_TRANSIENT = ("429", "503")
_RETRIES = RetryPolicy(max_retries=3, max_delay_s=5.0, max_retry_after_s=30.0)
_MOST_RUNNING = 16  # threads of functions, those that were given up among them


async def always(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Allow every call that is asked about."""
    return True


async def never(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Allow no call that is asked about."""
    return False


class CallRule(Rows):
    """A rule: patterns of ids, namespaces and effects; what is empty matches every tool."""

    decision: Decision
    tool: _Patterns = ()
    namespace: _Patterns = ()
    effect: Annotated[tuple[Effect, ...], BeforeValidator(_listed)] = ()

    def matches(self, tool: Tool | RankedTool) -> bool:
        """Whether the rule is one for the tool."""
        compared = ((tool.id, self.tool), (tool.namespace, self.namespace), (tool.effect or "change", self.effect))
        # A bracket in a pattern is one: its id must not escape its rule.
        patterns = ((text, [each.replace("[", "[[]") for each in given]) for text, given in compared)
        return all(not given or any(fnmatchcase(text, each) for each in given) for text, given in patterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPolicy:
    """What may be called.

    :param rules: the first that matches decides.
    :param confirmed: whether calls that no rule names are confirmed already (``--yes``). A rule that says ``ask`` is asked all the same.
    """

    rules: tuple[CallRule, ...] = ()
    confirmed: bool = False

    def decision(self, tool: Tool | RankedTool) -> Decision:
        """Decide about the calls of a tool."""
        rule = next((rule for rule in self.rules if rule.matches(tool)), None)
        if rule is not None:
            return rule.decision
        return "allow" if self.confirmed or tool.effect == "read" else "ask"


class _PolicyFile(Rows):
    """The file of a policy."""

    rules: tuple[CallRule, ...]


def read_policy(path: Path, *, confirmed: bool = False) -> CallPolicy:
    """Read the file of a policy, of which the only key is ``rules``.

    :raises InvalidArgumentError: when it cannot be read, or has faults; each is named with its line.
    """
    file = accepted(*read_model(path, _PolicyFile), InvalidArgumentError, path)
    return CallPolicy(rules=file.rules, confirmed=confirmed)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """Limits of all calls of a run together. None: no limit."""

    calls: int | None = None  # that are made; retries of one are not counted
    seconds: float | None = None  # from the first call on; a call in flight then is given up


@dataclass(eq=False, repr=False)
class CallPipeline:
    """Makes calls as the policy says: asked about where nobody has confirmed them, within limits, tried again where that is safe."""

    send: ToolInvoker  # makes one attempt
    # whom the policy asks; one question is open at a time. None: the caller has the consent, and no policy is looked at
    ask: Ask | None = None
    policy: CallPolicy = field(default_factory=CallPolicy)
    _: KW_ONLY
    # returns a tool as its MCP server has it now, before anybody is asked about a call
    look_up: Callable[[Tool, Mapping[str, Any]], Awaitable[Tool]] | None = None
    limits: CallLimits = field(default_factory=CallLimits)  # of all calls through this object
    # of what only reads or is idempotent, when the server is unavailable or answers 429 or 503. Any other write is sent
    # once: whether the first attempt had an effect is not known. A Retry-After beyond the policy's limit ends the call
    retries: RetryPolicy = field(default_factory=lambda: RetryPolicy(max_retries=0))
    calls: int = field(default=0, init=False)
    _started_s: float | None = field(default=None, init=False)
    _one_question: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any], *, as_documented: bool = False) -> ToolAnswer:
        """Call a tool; see :class:`ToolInvoker`.

        :param as_documented: make no call of a tool that by its server does more now than its document says, whoever consents.
        :raises PermissionDeniedError: when the policy refuses the call (reason ``CALL_DENIED``), or nobody confirmed it
            (``NOT_CONFIRMED``), or ``as_documented`` forbids it; nothing is sent.
        :raises OverloadedError: when a limit of the run is reached (reason ``RUN_LIMIT``).
        """
        asked = False
        if self._needs_question(tool):
            now = await self.look_up(tool, arguments) if self.look_up is not None else tool
            if as_documented and now.effect != tool.effect:
                raise StrongerEffectError(now)
            tool = now
            asked = await self._confirm(tool, arguments)
        try:
            return await self._limited(tool, arguments)
        except StrongerEffectError as error:  # the tool is not what the policy has decided about
            if self.ask is None or as_documented:
                raise
            now = error.tool
        if self._needs_question(now) and not asked:
            await self._confirm(now, arguments)
        return await self._limited(now, arguments)

    def _needs_question(self, tool: Tool) -> bool:
        decision = "allow" if self.ask is None else self.policy.decision(tool)
        if decision == "deny":
            raise PermissionDeniedError(
                "the policy of the operator refuses calls of this tool; nothing was sent",
                code="PERMISSION_DENIED",
                reason="CALL_DENIED",
                subject=tool.id,
                remedy="Ask the operator to allow it, or leave the call out.",
            )
        return decision == "ask"

    async def _confirm(self, tool: Tool, arguments: Mapping[str, Any]) -> bool:
        """Ask about a call, where the policy still wants that of the tool as it is now; return whether that was done."""
        if self.ask is None or not self._needs_question(tool):
            return False
        async with self._one_question:
            if not await self.ask(tool, arguments):
                raise not_confirmed(tool.id)
        return True

    async def _limited(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        limits, now = self.limits, time.monotonic()
        self._started_s = now if self._started_s is None else self._started_s
        left_s = None if limits.seconds is None else max(0.0, self._started_s + limits.seconds - now)
        if limits.calls is not None and self.calls >= limits.calls:
            raise _used_up(tool, f"{limits.calls:,} calls")
        if left_s == 0.0:
            raise _used_up(tool, f"{limits.seconds:g} seconds")
        self.calls += 1
        deadline = asyncio.timeout(left_s)
        try:
            async with deadline:
                return cleaned(await self._retried(tool, arguments))
        except TimeoutError:
            if deadline.expired():
                raise _used_up(tool, f"{limits.seconds:g} seconds") from None
            raise

    async def _retried(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        for retry in range(self.retries.max_retries if tool.effect in ("read", "idempotent") else 0):
            wait_s = 0.0
            with contextlib.suppress(UnavailableError):
                answer = await self.send.invoke(tool, arguments)
                wait_s = parse_retry_after(answer.retry_after) or 0.0
                if answer.status[:3] not in _TRANSIENT or wait_s > self.retries.max_retry_after_s:
                    return answer
            await asyncio.sleep(max(wait_s, self.retries.delay_s(retry)))
        return await self.send.invoke(tool, arguments)


def _used_up(tool: Tool, limit: str) -> OverloadedError:
    said = {"code": "RESOURCE_EXHAUSTED", "reason": "RUN_LIMIT", "remedy": "Ask for less, or raise the limit."}
    return OverloadedError(f"the run has used up its limit of {limit}", subject=tool.id, **said)


class ProtocolInvoker:
    """Hands each call to the invoker of its protocol, of :data:`egotools.call.PROTOCOLS`."""

    def __init__(self, invokers: Mapping[str, ToolInvoker]) -> None:
        self._invokers = dict(invokers)

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`; raises ToolRequestError when nothing here speaks the tool's protocol."""
        protocol = tool.call.protocol
        if protocol in self._invokers:
            return await self._invokers[protocol].invoke(tool, arguments)
        remedy = f"Protocols that are called here: {', '.join(sorted(self._invokers)) or 'none'}."
        if protocol == "python":
            remedy += " Functions of Python are called where their module is named (--python)."
        here = f"nothing here calls tools by the protocol {protocol!r}" if protocol else "its source names no protocol"
        raise ToolRequestError(here, subject=tool.id, remedy=remedy)


class PythonInvoker:
    """Calls functions of modules that the caller has named, each in a thread of its own, also coroutine functions.

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
        self._timeout_s, self._max_bytes = timeout_s, max_bytes
        self._room = asyncio.Semaphore(_MOST_RUNNING)

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`ToolInvoker`. The body is a copy, as JSON values, of what the function returned."""
        request = tool.request(arguments)
        if not isinstance(request, PythonCall):
            raise ToolRequestError("it is not of the protocol python", tool.id, "Call it by its protocol.")
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
        await self._room.acquire()
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()

        def call() -> bytes:
            try:
                value = context.run(function, **arguments)
                value = asyncio.run(value) if inspect.iscoroutine(value) else value
                return pydantic_core.to_json(value, inf_nan_mode="null", fallback=_number)
            except Exception:
                raise
            except BaseException as error:  # SystemExit: a tool does not end its caller
                raise RuntimeError(f"{type(error).__name__}: {error}") from None
            finally:
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                    loop.call_soon_threadsafe(self._room.release)

        return await on_a_thread("tool", call)

    def _function(self, name: str) -> Callable[..., Any]:
        """Return the function ``module:name`` of an allowed module; raises ToolRequestError when it is none."""
        module_name, _, path = name.partition(":")
        if module_name not in self._modules:
            remedy = f"Allow the module where you trust it; allowed: {', '.join(sorted(self._modules)) or 'none'}."
            raise ToolRequestError("its module is not among those whose functions may be called", name, remedy)
        target: Any = self._objects.get(module_name)
        if target is None:
            try:
                target = importlib.import_module(module_name)
            except Exception as error:  # the module's own code may raise any
                problem = f"its module cannot be imported ({type(error).__name__})"
                raise ToolRequestError(problem, module_name, "Install it, or correct its name.") from error
            first = getattr(target, path.partition(".")[0], None)  # what the module has imported would lead out of it
            if path not in getattr(target, "__all__", ()) and getattr(first, "__module__", None) != module_name:
                target = None
        for part in path.split(".", 2):  # of a class its methods: what hangs on these leads out of the module
            target = None if part.startswith("_") or "." in part else getattr(target, part, None)
        if not callable(target):
            raise ToolRequestError("its module has no such function of its own", name, "Build the snapshot again.")
        return target  # type: ignore[no-any-return]


def _number(value: Any) -> int | float:
    """Return a number of a library (numpy, mpmath) as Python's: a call that has done its work is no failure."""
    if isinstance(value, numbers.Real):
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    raise TypeError(f"a value of the type {type(value).__name__} is none of JSON")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAccess:
    """What may be called, and where."""

    modules: Collection[str] = ()  # of Python, whose functions may be called
    servers: Mapping[str, str] = field(default_factory=dict)  # namespace → base URL
    sessions: Mapping[str, McpAddress] = field(default_factory=dict)  # name → MCP server
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)  # see :class:`HttpInvoker`
    allowed_networks: Sequence[Network] = ()  # that a document's server may be in although they are not public
    policy: CallPolicy = field(default_factory=CallPolicy)
    timeout_s: float = 30.0
    max_bytes: int = MAX_BYTES  # of an answer that are taken

    def server_of(self, tool: Tool) -> str:
        """The base URL that was given for a tool, or empty."""
        return self.servers.get(tool.namespace, self.servers.get("", ""))

    @contextlib.asynccontextmanager
    async def calling(
        self,
        ask: Ask,
        limits: CallLimits,
        own: Callable[[ToolInvoker], ToolInvoker] = lambda called: called,
        retries: RetryPolicy = _RETRIES,
    ) -> AsyncIterator[CallPipeline]:
        """Yield what calls tools. MCP sessions belong to this block: give each caller (tenant and subject) one of its own.

        :param own: given what calls by protocols, returns what calls some tools in its place: those of this process.
        :param retries: of safe calls.
        """
        limits_of_one: Any = {"timeout_s": self.timeout_s, "max_bytes": self.max_bytes}
        http = HttpInvoker(
            servers=self.servers,
            credentials=self.credentials,
            allowed_networks=self.allowed_networks,
            **limits_of_one,
        )
        async with McpInvoker(self.sessions, **limits_of_one) as mcp:
            protocols: dict[str, ToolInvoker] = {"http": http, "odata": http, "mcp": mcp}
            if self.modules:
                protocols["python"] = PythonInvoker(self.modules, **limits_of_one)
            send = own(ProtocolInvoker(protocols))
            yield CallPipeline(send, ask, self.policy, look_up=mcp.look_up, limits=limits, retries=retries)
