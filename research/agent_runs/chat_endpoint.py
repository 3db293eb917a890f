"""A chat model behind an endpoint of llama.cpp, for an agent of pydantic-ai, and its own count of tokens.

The small model calls tools reliably only when its answer is bound by a JSON schema (``response_format``); asked with ``tools=[…]`` it writes
calls as text. So each turn is one JSON object with the tool's name and its arguments.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

__all__ = ["ChatEndpoint"]

_TURN_TOKENS = 300
_RULES = 'Answer with one JSON object: {"tool": NAME, "arguments": {…}}.'


class ChatEndpoint:
    """The endpoint at an address.

    :param shown: characters of a tool's answer that the model gets.
    """

    def __init__(self, url: str, *, shown: int, timeout_s: float) -> None:
        self._http = httpx.Client(base_url=url, timeout=timeout_s)
        self._shown = shown

    def model(self) -> FunctionModel:
        """The model as pydantic-ai takes it."""
        return FunctionModel(self._turn)

    def tokens(self, messages: Sequence[dict[str, str]]) -> int:
        """Tokens of a prompt by the model's own template and tokenizer."""
        prompt = (
            self._http.post("/apply-template", json={"messages": list(messages)}).raise_for_status().json()["prompt"]
        )
        content = {"content": prompt, "parse_special": True}
        return len(self._http.post("/tokenize", json=content).raise_for_status().json()["tokens"])

    @staticmethod
    def system(instructions: str, tools: Sequence[tuple[str, str, Any]]) -> dict[str, str]:
        """The first message: instructions, and each tool with name, description and schema."""
        listed = "\n".join(f"- {name} {json.dumps(schema)}: {description}" for name, description, schema in tools)
        return {"role": "system", "content": f"{instructions}\n{_RULES}\nTools:\n{listed}"}

    def shown(self, text: str) -> str:
        """The part of a tool's answer that the model gets."""
        return text if len(text) <= self._shown else f"{text[: self._shown]}… (cut)"

    def _turn(self, history: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        tools = [*info.function_tools, *info.output_tools]
        listed = [(tool.name, tool.description or "", tool.parameters_json_schema) for tool in tools]
        messages = [self.system(info.instructions or "", listed), *self._messages(history)]
        schema = {"anyOf": [_turn_schema(name, arguments) for name, _, arguments in listed]}
        body = {
            "messages": messages,
            "temperature": 0,
            "max_tokens": _TURN_TOKENS,
            "response_format": {"type": "json_schema", "json_schema": {"name": "turn", "schema": schema}},
        }
        answer = self._http.post("/v1/chat/completions", json=body).raise_for_status().json()
        usage = RequestUsage(
            input_tokens=answer["usage"]["prompt_tokens"], output_tokens=answer["usage"]["completion_tokens"]
        )
        turn = json.loads(answer["choices"][0]["message"]["content"])
        return ModelResponse(parts=[ToolCallPart(turn["tool"], turn["arguments"])], usage=usage)

    def _messages(self, history: Sequence[ModelMessage]) -> list[dict[str, str]]:
        found: list[dict[str, str]] = []
        for part in (part for message in history for part in message.parts):
            if isinstance(part, ToolCallPart):
                found.append(
                    {
                        "role": "assistant",
                        "content": json.dumps({"tool": part.tool_name, "arguments": part.args_as_dict()}),
                    }
                )
            elif isinstance(part, ToolReturnPart):
                found.append(
                    {"role": "user", "content": f"{part.tool_name} answers: {self.shown(part.model_response_str())}"}
                )
            elif isinstance(part, RetryPromptPart):
                found.append({"role": "user", "content": self.shown(part.model_response())})
            elif isinstance(part, UserPromptPart | SystemPromptPart):
                found.append({"role": "user", "content": str(part.content)})
        return found


def _turn_schema(tool: str, arguments: Any) -> dict[str, Any]:
    properties = {"tool": {"const": tool}, "arguments": arguments}
    return {"type": "object", "properties": properties, "required": ["tool", "arguments"]}
