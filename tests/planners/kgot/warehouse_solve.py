"""A task over a warehouse, whose tools note each call. Its model is a function of the prompt: it looks for two materials, moves one, and
computes the sum of both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from egotools import Call, Tool
from inference.chat import Budget, ChatModel, Completion, Message
from planners.calls.tool_access import PythonInvoker
from planners.kgot.kgot_task import KgotSettings, KgotTask
from planners.kgot.recorded_run import SolveParts
from planners.stores.memory_graph import MemoryGraph
from tests.planners.kgot.run_fakes import FakeFinder, FakeSandbox, node

TASK = KgotTask(question="How many letters do steel and tin have, once steel is in Ulm?")
SETTINGS = KgotSettings(retrieve="direct", num_next_steps_decision=3, max_final_solution_parsing=2)
MARKS: list[str] = []


def find_stock(material: str) -> dict[str, object]:
    MARKS.append(f"find {material}")
    return {"items": [{"id": material, "amount": len(material)}]}


def move_stock(material: str, target: str) -> dict[str, object]:
    MARKS.append(f"move {material} {target}")
    return {"moved": material, "to": target}


def tool(name: str) -> Tool:
    call = Call(protocol="python", operation=f"{__name__}:{name}")
    effect = "read" if name.startswith("find") else "change"
    return Tool(id=name, name=name, title="", description="", namespace="", call=call, effect=effect)


class WarehouseModel:
    """Answers by what stands in the prompt."""

    def __init__(self) -> None:
        self.asked = 0
        self.name = "warehouse"
        self.budget = Budget(usd_per_1k_prompt=0.3, usd_per_1k_completion=0.7)

    def complete(self, messages: Sequence[Message], *, schema_name: str = "answer", **options: Any) -> Completion:
        self.asked += 1
        text = "".join(message.content for message in messages)
        answer = json.dumps(self._answer(schema_name, "Zmoved" in text, "Zstock" in text))
        return Completion(text=answer, prompt_tokens=len(text) // 4, completion_tokens=len(answer))

    def _answer(self, step: str, moved: bool, found: bool) -> dict[str, object]:
        if step == "next_step":
            return (
                {"query_type": "RETRIEVE", "content": "5 and 3"}
                if moved
                else {"query_type": "INSERT", "content": "stock"}
            )
        if step == "tool_calls":
            wanted = [{"tool": "find_stock", "arguments": {"material": each}} for each in ("steel", "tin")]
            move = {"tool": "move_stock", "arguments": {"material": "steel", "target": "Ulm"}}
            return {"calls": [move] if found else wanted}
        if step == "write_graph":
            stock = [node("Zstock", name="steel", amount=5), node("Zstock", name="tin", amount=3)]
            return {"nodes": [node("Zmoved", name="steel")] if found else stock, "edges": []}
        answers: dict[str, dict[str, object]] = {
            "direct_answer": {"found": False, "answer": ""},
            "forced_answer": {"found": False, "answer": ""},
            "merge_reasons": {"missing": "the stock"},
            "maths_needed": {"needed": True},
            "maths_code": {"code": "print(5 + 3)"},
            "final_answer": {"answer": "8"},
        }
        return answers[step]


def parts(model: ChatModel | None = None, *, repeat: bool = True) -> SolveParts:
    async def ask(asked: Tool, arguments: Mapping[str, Any]) -> bool:
        return repeat

    sandbox = FakeSandbox(lambda code: "8\n")
    return SolveParts(
        graph=MemoryGraph(sandbox),
        models={"graph": model or WarehouseModel()},
        finder=FakeFinder(tool("find_stock"), tool("move_stock")),
        invoker=PythonInvoker([__name__]),
        sandbox=sandbox,
        repeat=ask,
        settings=SETTINGS,
    )
