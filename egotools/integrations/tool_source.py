"""The tools of an egotools server for one conversation: searched, remembered, called. Every adapter is a view of this."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from egotools.calling.answer_fence import MAX_SHOWN_BYTES, fenced, left_out_note, shown_answer
from egotools.calling.call_credentials import Credential
from egotools.calling.http_invoker import send_http
from egotools.calling.invoker import TIMEOUT_S, KnownSecrets, ToolAnswer, of_http, off_loop
from egotools.calling.mcp_invoker import McpAddress, McpInvoker
from egotools.calling.mcp_session import StrongerEffectError, not_confirmed
from egotools.calling.tool_request import arguments_schema
from egotools.client_errors import ClientError, InvalidRequestError, NotFoundError, ToolRequestError
from egotools.search_tool import SEARCH_TEXT, read_asked, search_description, search_parameters
from egotools.values import RankedTool, Response, Tool

if TYPE_CHECKING:
    from egotools.client import Client

AnyTool: TypeAlias = RankedTool | Tool
"""A tool as a search found it, or as it was looked up."""
Confirm: TypeAlias = Callable[[AnyTool, Mapping[str, Any]], bool | Awaitable[bool]]
"""Asks whoever may decide whether a tool may be called with these arguments."""

_SEARCH = f"{SEARCH_TEXT} Search before you say that something cannot be done, and again when a tool is missing."
_CATALOGUE_S = 2.0  # seconds that a model's turn waits for what is said of the catalogue
_MAX_DONE, _MAX_HAVE, _MAX_NAME = 1_000, 64, 256  # as the server takes them
_MAX_DESCRIPTION = 1_024  # of a tool: the limit of OpenAI
_NOT_CALLED = " (not callable here: tell the user what to run)"
_SHOWN = 200  # characters of a description in the answer to a search
_MOST_PARTS = 64  # of an answer: names are read in


class Offer(NamedTuple):
    """A tool as a model is told of it; ``parameters`` is the JSON Schema of its arguments, an object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(slots=True, eq=False)
class ToolSource:
    """Tools for one conversation. Make one for each conversation; they may share a client.

    Before a call the server is asked for the tool again: one that the catalogue no longer has is not called, and forgotten.

    :param client: of the egotools server.
    :param servers: namespace → base URL of its HTTP tools, or address of its MCP server (``mcp:COMMAND …``, ``mcp+https://…``).
        Tools of other namespaces are found but not called: an address from a document is never asked.
    :param credentials: namespace → key of its security scheme → credential; of an MCP server: headers, or variables of its command.
        They go to the address in ``servers``, and a model never sees them.
    :param confirm: asked before a call that may change something; without it such a call is refused.
    :param k: tools that one search finds at most.
    :param filters: as for :meth:`Client.retrieve`; a model cannot change them.
    :param abstain: whether a search finds nothing where the server takes the request for unanswerable; otherwise the model is told that the
        tools may not fit.
    :param max_remembered: found tools that are remembered; the ones found longest ago are forgotten first.
    :param max_bytes: bytes of an answer that a model is shown.
    :param timeout_s: seconds for one call.
    :param search_name: the name by which a model searches.
    :param done: ids of the tools that were called with success; later searches do not find them again.
    :param have: names of values that are known. Calls add names of their answers, with empty values: no value leaves this process.
    """

    client: Client
    _: KW_ONLY
    servers: Mapping[str, str] = field(default_factory=dict)
    credentials: Mapping[str, Mapping[str, Credential]] = field(default_factory=dict, repr=False)
    confirm: Confirm | None = None
    k: int = 5
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    preset: str = ""
    abstain: bool = False
    max_remembered: int = 32
    max_bytes: int = MAX_SHOWN_BYTES
    timeout_s: float = TIMEOUT_S
    search_name: str = "search_tools"
    done: dict[str, None] = field(default_factory=dict, init=False)
    have: dict[str, str] = field(default_factory=dict, init=False)
    _found: dict[str, AnyTool] = field(default_factory=dict, init=False, repr=False)
    _answer: Response | None = field(default=None, init=False, repr=False)
    _described: list[str] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if loose := sorted(set(self.credentials) - set(self.servers)):
            problem = "there are credentials for this namespace, and no address that they may go to"
            raise InvalidRequestError(problem, loose[0], f"Give servers={{{loose[0]!r}: 'https://…'}}.")
        if not 1 <= self.k <= self.max_remembered:
            raise InvalidRequestError(f"{self.k} is not between 1 and max_remembered ({self.max_remembered})", "k")

    @property
    def tools(self) -> dict[str, AnyTool]:
        """The remembered tools by the names by which a model calls them."""
        return dict(self._found)

    def fresh(self, ids: Iterable[str] = ()) -> ToolSource:
        """Return a source with the same settings for another conversation, or for a stored one that had found these tools.

        Of many ids the last ones count; those that the catalogue no longer has are left out.
        """
        other = replace(self)
        other._described = self._described  # one catalogue, described once
        known = {tool.id: tool for tool in self._found.values()}
        for id_ in list(ids)[-self.max_remembered :]:
            if tool := known.get(id_) or self._looked_up(id_):
                other.remember([tool])
        return other

    def remember(self, tools: Iterable[AnyTool]) -> None:
        """Add tools to the remembered ones, and forget the oldest above the limit."""
        for tool in tools:
            name = tool.call_name if tool.call_name != self.search_name else f"{tool.call_name[:60]}_tool"
            self._found.pop(name, None)
            self._found[name] = tool
        for name in list(self._found)[: -self.max_remembered]:
            self._found.pop(name, None)

    def search(self, query: str = "", needs: Sequence[str] = ()) -> tuple[AnyTool, ...]:
        """Find tools for a request in plain words, or for needs, and remember them.

        :param needs: as for :meth:`Client.retrieve`; the query is their context then, and may be empty.
        :raises ClientError: when the server does not answer.
        """
        answer = self.client.retrieve(
            query,
            needs=needs,
            k=self.k,
            filters=self.filters,
            preset=self.preset,
            explain=False,
            schema_format="openai",
            done=list(self.done)[-_MAX_DONE:],
            have=dict(self.have),
            abstain=self.abstain,
        )
        if self._answer is None or answer.snapshot_id != self._answer.snapshot_id:
            kept = [now for tool in list(self._found.values()) if (now := self._looked_up(tool.id))]
            self._found.clear()  # of another publication: what this one lacks is forgotten
            self.remember(kept)
        self._answer = answer
        self.remember(reversed(answer.tools))  # the best one last: it is forgotten last
        return answer.tools

    def offers(self) -> list[Offer]:
        """Return what a model is given for its next turn: the search, and the remembered tools."""
        description = _SEARCH  # without what lies behind it where filters narrow it, or the server does not answer
        if not self.filters:
            try:
                if not self._described:
                    info = self.client.catalog(timeout_s=_CATALOGUE_S)
                    self._described.append(search_description(info, text=_SEARCH, max_chars=_MAX_DESCRIPTION))
                description = self._described[0]
            except ClientError:
                pass
        offered = [Offer(self.search_name, description, search_parameters())]
        for name, tool in self._found.items():
            if not _is_callable(tool):
                continue
            schema, _ = arguments_schema(tool.schema)
            parameters = {**schema, "type": "object", "properties": dict(schema.get("properties") or {})}
            offered.append(Offer(name, (tool.description or tool.title or tool.name)[:_MAX_DESCRIPTION], parameters))
        return offered

    def asks(self, name: str) -> bool:
        """Whether a call needs the consent of whoever runs the agent."""
        return name != self.search_name and _may_change(self._remembered(name))

    def call(self, name: str, arguments: Mapping[str, Any], *, approved: bool = False) -> str:
        """As :meth:`acall`, for code that does not await, also where a loop runs in this thread."""
        with ThreadPoolExecutor(1) as pool:
            work = self.acall(name, arguments, approved=approved)
            return pool.submit(copy_context().run, asyncio.run, work).result()

    async def acall(self, name: str, arguments: Mapping[str, Any], *, approved: bool = False) -> str:
        """Search, or call a remembered tool; return the answer as text for a model. An error of the tool is an answer.

        :param approved: whether the framework has asked already.
        :raises NotFoundError: for a name that no search found, and for a tool that the catalogue no longer has.
        :raises PermissionDeniedError: for a tool that may change something, without consent.
        :raises ToolRequestError: when no request can be made of the arguments, or nobody said where the tool may be called.
        :raises ClientError: when the tool does not answer.
        """
        if name == self.search_name:
            return await asyncio.to_thread(self._search_text, arguments)
        known = self._remembered(name)
        tool = await asyncio.to_thread(self._looked_up, known.id)
        if tool is None:
            self._found.pop(name, None)
            raise NotFoundError("the catalogue no longer has this tool", name[:200], "Search for a tool first.")
        approved = approved and tool.call == known.call
        if not _is_callable(tool):
            problem = (
                f"tools of {tool.call.protocol} are not called here"
                if tool.call.protocol
                else "its source does not say how it is called"
            )
            raise ToolRequestError(problem, tool.id, "Tell the user what to run instead.")
        if tool.call.protocol == "mcp":
            answer = await self._sent_mcp(tool, arguments, approved)
        else:
            address, secrets = self._address(tool), self.credentials.get(tool.namespace, {})
            request: Any = tool.request(arguments, server=address, credentials=secrets)
            if _may_change(tool) and not approved:
                await self._ask(tool, arguments)
            sent = await send_http(request, timeout_s=self.timeout_s)
            answer = await off_loop(sent.size, lambda: of_http(KnownSecrets(secrets.values()).without(sent)))
        if answer.ok:
            self.done[tool.id] = None
            parts = answer.body[:_MOST_PARTS] if isinstance(answer.body, list) else [answer.body]
            members = [member for part in parts if isinstance(part, Mapping) for member in part.items()]
            plain = [name for name, value in members if value is not None and not isinstance(value, list | Mapping)]
            new = [each for each in dict.fromkeys(plain) if 0 < len(each) <= _MAX_NAME and each not in self.have]
            self.have.update(dict.fromkeys(new[: _MAX_HAVE - len(self.have)], ""))

        def shown() -> str:
            text = shown_answer(answer, self.max_bytes)
            notes = tuple(filter(None, (*answer.notes, left_out_note(text, self.max_bytes))))
            return fenced(text.text, tool_id=tool.id, status=answer.status, notes=notes)

        return await off_loop(answer.size, shown)

    def _search_text(self, arguments: Mapping[str, Any]) -> str:
        found = {tool.id for tool in self.search(**read_asked(arguments))}
        lines = [
            f"- {name}{'' if _is_callable(tool) else _NOT_CALLED}: {tool.description[:_SHOWN]}"
            for name, tool in self._found.items()
            if tool.id in found
        ]
        if not lines or self._answer is None:
            return "No tool fits. Search with other words, or answer without a tool."
        said = "These tools can be called now, best first:"
        if doubt := self._answer.doubt:
            said = f"These {doubt}; call one only if its description says that it does what is needed:"
        gaps = [f"Perhaps no tool fits this need: {each.need}" for each in self._answer.need_results if each.unserved]
        return "\n".join([said, *reversed(lines), *gaps])

    def _remembered(self, name: str) -> AnyTool:
        if name not in self._found:
            problem = "no search of this conversation found this tool, or it was forgotten"
            raise NotFoundError(problem, name[:200], "Search for a tool first.")
        return self._found[name]

    def _looked_up(self, id_: str) -> Tool | None:
        try:
            return self.client.get_tool(id_, schema_format="openai")
        except NotFoundError:
            return None

    def _address(self, tool: Tool) -> str:
        if address := self.servers.get(tool.namespace):
            return address
        problem = "nobody said where the tools of this namespace may be called; addresses of documents are not asked"
        remedy = f"Give servers={{{tool.namespace!r}: 'https://…'}}."
        raise ToolRequestError(problem, tool.namespace or tool.id, remedy)

    async def _ask(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        given = self.confirm(tool, arguments) if self.confirm else False
        if not (await given if inspect.isawaitable(given) else given):
            remedy = "Do not call it again; tell the user what you would have done."
            raise not_confirmed(tool.id, "nobody agreed to it", remedy)

    async def _sent_mcp(self, tool: Tool, arguments: Mapping[str, Any], approved: bool) -> ToolAnswer:
        """Call a tool as its server has it now; one that does more than the catalogue says is asked about again."""
        address = self._address(tool)
        texts = {key: str(value) for key, value in self.credentials.get(tool.namespace, {}).items()}
        over_http = address.startswith("mcp+")
        place = McpAddress(session=address, headers=texts if over_http else {}, env={} if over_http else texts)
        async with McpInvoker({"": place}, timeout_s=self.timeout_s) as invoker:
            if _may_change(tool) and not approved:
                tool = await invoker.look_up(tool, arguments)
                await self._ask(tool, arguments)
                approved = True
            try:
                return await invoker.invoke(tool, arguments)
            except StrongerEffectError as error:
                tool = error.tool
            if not approved:
                await self._ask(tool, arguments)
            return await invoker.invoke(tool, arguments)


def _is_callable(tool: AnyTool) -> bool:
    return tool.call.protocol in ("http", "odata", "mcp")


def _may_change(tool: AnyTool) -> bool:
    return tool.effect != "read"  # an older server says nothing
