"""Chat models over HTTP for the two frameworks whose own come in packages that are not installed here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import openai
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata, MessageRole
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection


class ChatOpenAI(BaseChatModel):
    """As that of ``langchain_openai``."""

    model: str = "scripted"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        given: Any = convert_to_openai_messages(messages)
        with openai.OpenAI() as client:
            said = client.chat.completions.create(model=self.model, messages=given, **kwargs).choices[0].message
        calls: Any = [
            {"name": call.function.name, "args": json.loads(call.function.arguments), "id": call.id}
            for call in said.tool_calls or ()
            if call.type == "function"
        ]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said.content or "", tool_calls=calls))])


class OpenAI(FunctionCallingLLM):
    """As that of ``llama_index.llms.openai``."""

    model: str = "scripted"

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True, model_name=self.model)

    def _prepare_chat_with_tools(  # type: ignore[override]  # its agents give these by name
        self, tools: Any, chat_history: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        return {"messages": chat_history, "tools": [tool.metadata.to_openai_tool() for tool in tools]}

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        given: Any = [_message(message) for message in messages]
        async with openai.AsyncOpenAI() as client:
            answer = await client.chat.completions.create(model=self.model, messages=given, **kwargs)
        said = answer.choices[0].message
        calls = [call.model_dump() for call in said.tool_calls or ()]
        message = ChatMessage(role=MessageRole.ASSISTANT, content=said.content or "")
        message.additional_kwargs = {"tool_calls": calls} if calls else {}
        return ChatResponse(message=message, raw=answer.model_dump())

    def get_tool_calls_from_response(  # type: ignore[override]
        self, response: Any, **kwargs: Any
    ) -> list[ToolSelection]:
        return [
            ToolSelection(
                tool_id=call["id"],
                tool_name=call["function"]["name"],
                tool_kwargs=json.loads(call["function"]["arguments"]),
            )
            for call in response.message.additional_kwargs.get("tool_calls", ())
        ]

    def chat(self, *args: Any, **kwargs: Any) -> ChatResponse:
        raise NotImplementedError

    def complete(self, *args: Any, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError

    acomplete = stream_chat = stream_complete = astream_chat = astream_complete = complete  # type: ignore[assignment]


def _message(message: ChatMessage) -> dict[str, Any]:
    made: dict[str, Any] = {"role": message.role.value, "content": message.content or ""}
    return made | {
        key: value for key, value in message.additional_kwargs.items() if key in ("tool_calls", "tool_call_id")
    }
