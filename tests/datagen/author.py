"""A scripted author: it writes what each question asks for, and reads back what it wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from inference.chat import Message

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


class Author:
    """Answers questions of a writer and of a reader.

    :ivar wrote: text → the question that it answers, and what was said.
    """

    def __init__(self) -> None:
        self.wrote: dict[str, tuple[Mapping[str, Any], list[dict[str, Any]]]] = {}

    def __call__(self, messages: Sequence[Message]) -> str:
        question = json.loads(messages[1].content)
        return json.dumps(self.written(question) if "steps" in question else self.read(question))

    def written(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """A usable answer to a question of the writer."""
        parts, said = [], []
        for step in question["steps"]:
            parts.append(step["does"].split(":")[0].rstrip("."))
            for each in step.get("state", ()):
                value = each.get("say") or each.get("one_of", ["Ada"])[0]
                typed = {"date": "2026-12-24", "datetime": "2026-12-24T10:00", "boolean": "true", "integer": "7"}.get(
                    each["type"], value
                )
                value = typed if each["type"] in ("date", "datetime", "boolean", "integer") else value
                parts.append(f"with {value}")
                said.append({"step": step["step"], "input": each["input"], "words": value, "value": typed})
        text = f"{question['people'][0]} asks: {' '.join(parts)}, {question['style'][:12]}".strip()
        self.wrote[text] = (question, said)
        needs = [f"something of kind {_NUMBERS[at]}" for at in range(len(question["steps"]))]
        return {"refusal": "", "text": text, "said": said, "names": [question["people"][0]], "needs": needs}

    def read(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """What a good reader says of a text that was written here."""
        asked, said = self.wrote[question["message"]]
        named = {tool["does"]: tool["tool"] for tool in question["tools"]}
        tools = {step["step"]: named[step["does"]] for step in asked["steps"]}
        calls = [
            {
                "tool": tools[step["step"]],
                "values": [
                    {"input": one["input"], "words": one["words"]} for one in said if one["step"] == step["step"]
                ],
                "uses": [tools[one["from_step"]] for one in step.get("comes", ())],
            }
            for step in asked["steps"]
        ]
        return {"calls": calls, "kind": asked["kind"], "missing": "", "typed": True, "reason": "it says so"}
