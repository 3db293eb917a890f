"""A run while it goes on: what it knows, how a step that fails is left out, and how its graph is told, written and asked.

A write is validated by applying it, corrected a few times, then left out; tables are loaded whole (section 4.1, appendix B.6 of the paper). A
failing query is corrected, and one that gives nothing is written anew. Of what it gives, what is left to compute is computed, and the most
frequent of several forms wins (section 4.2, appendix C.3).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from typing import Any, NamedTuple, TypeVar

from egotools.calling.invoker import ToolInvoker
from ontology.errors import BudgetExceededError, ModelError, StatementError
from planners.calls.sandbox import Sandbox
from planners.calls.tool_finder import Finder
from planners.calls.untrusted import FenceMarks, clean_text, cleaned
from planners.journal.recorded import error_text
from planners.journal.step_log import emit, in_order
from planners.kgot import kgot_task as events
from planners.kgot.kgot_task import MOST_FIXES, DroppedWrite, KgotSettings, KgotTask, MadeCall, TaskView
from planners.kgot.steps import LlmSteps, UnusableStepError
from planners.stores import property_graph as graphs
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import GraphState, Language, Operation, PropertyGraph, QueryRows, Value

T = TypeVar("T")
U = TypeVar("U")

_VALUE_CHARS = 2_000  # of one value in a prompt: a page of text
_PROBLEM_CHARS = 1_000  # of a step that is left out, in its event
_SHOWN = (50, 20, 8, 3, 1)  # nodes of a label, and edges of a type, in the text of a large graph
_FEW_VALUES, _LISTED_CHARS = 10, 300  # of a property, which are listed
_LEAST_ROWS = 51  # of a table: fewer rows a model writes itself, in one answer
_DESCRIBING = ("file", "kind", "pages", "columns", "row_count")  # members that say nothing beside all rows
_GRAPH_CHARS = 12_000  # of the graph in a prompt; a larger one is summarised
_SAMPLES = 5  # rows of a table in a prompt
_PARTIAL_CHARS = 16_000  # of what a query gave, and of what Python printed
_FAULT_CHARS = 2_000  # the end of a traceback says what went wrong


@dataclass(slots=True, kw_only=True)
class RunState:
    """One run.

    :ivar iteration: from 1; 0 before the first.
    :ivar state: the graph of the last good step, and ``text`` as prompts have it.
    :ivar asked: the calls that were made, by tool and arguments; none is made twice.
    :ivar rows: the rows of tables that were loaded, by their label.
    :ivar fruitless: the queries that gave nothing, and those that failed.
    :ivar missing: what the graph lacked at last; the task itself where no vote said it.
    :ivar vote_fault: of the first vote of the last decision that failed; empty where none did.
    :ivar fault: why the model gave no vote at all in the last decision; None where it gave one, or only in a form that cannot be used.
    :ivar is_silent: whether nobody answers any more: the run ends.
    """

    task: KgotTask
    graph: PropertyGraph
    steps: LlmSteps
    finder: Finder
    invoker: ToolInvoker
    sandbox: Sandbox
    settings: KgotSettings
    marks: FenceMarks
    iteration: int = 0
    state: GraphState = field(default_factory=GraphState)
    text: str = field(default_factory=lambda: graphs.state_text(GraphState()))
    calls: list[MadeCall] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    rows: dict[str, set[frozenset[tuple[str, Value]]]] = field(default_factory=dict)
    fruitless: list[str] = field(default_factory=list)
    missing: str = ""
    vote_fault: str = ""
    fault: ModelError | None = None
    is_silent: bool = False
    _has_voted: bool = False

    def view(self) -> TaskView:
        """Return what a step sees."""
        seen = {"graph_text": self.text, "calls": tuple(self.calls), "fruitless": tuple(self.fruitless)}
        return TaskView(task=self.task, iteration=self.iteration, **seen)  # type: ignore[arg-type]

    async def contained(self, step: str, work: Awaitable[T] | Callable[[], Awaitable[T]], otherwise: U) -> T | U:
        """Return what a step gives, clean; where it fails, tell so and return another value. Only an exceeded budget
        ends the run. Whatever is raised counts as a failure: models, tools and stores give what nobody foresaw. Of steps
        that are run at once the work is a function: one that is cancelled before it begins leaves nothing unawaited."""
        try:
            return cleaned(await (work() if callable(work) else work))
        except BudgetExceededError:
            raise
        except Exception as error:
            self.drop(step, error_text(error))
            return otherwise

    def drop(self, step: str, problem: str) -> None:
        """Tell that a step was left out."""
        emit(events.Dropped(iteration=self.iteration, step=step, problem=clean_text(problem)[:_PROBLEM_CHARS]))

    def take_votes(self, faults: Sequence[Exception | None]) -> None:
        """Take the faults of the votes of a decision, None for one that was given, and note whether the run ends. It
        does when no vote of a decision was answered, each tried several times, or when all votes of a model that never
        gave one were in a form that cannot be used."""
        self.vote_fault = next((error_text(each) for each in faults if each is not None), "")
        self._has_voted |= None in faults
        failed = [each for each in faults if isinstance(each, ModelError)]
        unreached = [each for each in failed if not isinstance(each, UnusableStepError)]
        self.fault = None
        if len(unreached) == len(faults) or (len(failed) == len(faults) and not unreached and not self._has_voted):
            self.fault, self.is_silent = failed[0], True

    async def read_graph(self) -> None:
        """Take the state of the graph for what the next steps see, and tell it; where it cannot be read, keep the last one."""
        state = await self.contained("state", self.graph.state(), None)
        if state is None:
            return
        if state != self.state:
            self.text = graph_text(state, _GRAPH_CHARS)
        self.state = state
        emit(events.GraphChanged(iteration=self.iteration, state=state))

    # Writing.

    async def write(self, operations: Sequence[Operation]) -> None:
        """Apply operations as a whole; where that fails, one by one, so that one that is refused can be corrected. Tell what was written."""
        outcomes: list[Operation | DroppedWrite] = list(operations)
        if len(operations) == 1 or (operations and (await self._applied(operations))[0]):
            outcomes = [await self._write_one(operation) for operation in operations]
        dropped = tuple(each for each in outcomes if isinstance(each, DroppedWrite))
        written = tuple(each for each in outcomes if not isinstance(each, DroppedWrite))
        chains = int(bool(operations))
        emit(events.Written(iteration=self.iteration, operations=written, dropped=dropped, chains=chains))

    async def _write_one(self, operation: Operation) -> Operation | DroppedWrite:
        """Apply one write, corrected a few times."""
        tried = [operation]
        fault, is_wrong = await self._applied(tried)
        while is_wrong and len(tried) <= MOST_FIXES:
            fixed = await self.contained("fix write", self.steps.fix_write(tried[-1], fault), None)
            if fixed is None or fixed in tried:
                break
            tried.append(fixed)
            fault, is_wrong = await self._applied([fixed])
        if not fault:
            return tried[-1]
        self.drop("write", fault)
        return DroppedWrite(operation=tried[-1], fault=fault)

    async def _applied(self, operations: Sequence[Operation]) -> tuple[str, bool]:
        """Apply writes as a whole; return their fault, empty where there is none, and whether another write could do."""
        try:
            await self.graph.apply(operations)
        except StatementError as error:
            return clean_text(error.problem), True
        except Exception as error:  # the store is gone, its disk is full, or its engine met what nobody foresaw
            return error_text(error), False
        return "", False

    async def load(self, table: Table) -> bool:
        """Write the rows of a table, but those that stand there of an earlier answer; return whether all of them stand there."""
        known = self.rows.setdefault(table.label, set())
        new = {at: key for at, row in enumerate(table.rows) if (key := frozenset(row.items())) not in known}
        rows = [graphs.InsertNode(label=table.label, properties=table.rows[at]) for at in new]
        known.update(new.values())  # before the write: another call may bring the same rows meanwhile
        if not rows or await self._has_applied("table", rows):
            return True
        known.difference_update(new.values())
        return False

    async def _has_applied(self, step: str, operations: Sequence[Operation]) -> bool:
        fault, _ = await self._applied(operations)
        if fault:
            self.drop(step, fault)
        return not fault

    async def remove_noise(self) -> None:
        """Merge nodes that stand in the graph twice; tell which, so that it can be taken back (appendix B.6)."""
        removal = graphs.merge_duplicates(self.state)
        replaced = [graphs.ReplaceGraph(state=removal.after)]
        if removal.removed and await self._has_applied("noise", replaced):
            emit(events.NoiseRemoved(iteration=self.iteration, removed=removal.removed, merged=removal.merged))
            await self.read_graph()

    # Asking.

    async def solve(self, queries: Sequence[str]) -> str:
        """Return the answer, or empty where the graph gives none. Equal queries of the votes are run once and count as
        often as they were given; where the run retrieves without queries, they are the answers that the votes read off
        the graph."""
        match self.settings.retrieve:
            case "fusion":  # each answer counts as often as votes gave its query
                ways = [self._queried("query", queries), self._queried("script"), self._direct()]
                partials = sum(await in_order(ways), start=Counter[str]())
            case "direct":
                partials = await self._direct(queries)
            case kind:
                partials = await self._queried(kind, queries)
        answer = await self._final_answer(partials)
        if not answer:  # also where a query gave rows that are no answer: the next votes see it
            self._take_fruitless(queries)
        return answer

    async def force_query(self) -> str:
        """Return the answer of a query that is the best that can be had, or empty."""
        if (kind := self.settings.retrieve) == "direct":
            return ""
        return await self._final_answer(await self._queried("script" if kind == "script" else "query", forced=True))

    async def force_answer(self) -> str:
        """Return the answer that is read off the graph as far as it goes, or empty."""
        return await self._final_answer(await self._direct(forced=True))

    async def _direct(self, answers: Sequence[str] = (), *, forced: bool = False) -> Counter[str]:
        if not answers:
            step = "forced answer" if forced else "direct answer"
            answers = [await self.contained(step, self.steps.direct(self.view(), forced=forced), "")]
        counts = Counter(answer.strip() for answer in answers if answer.strip())
        for answer in counts:
            emit(events.Queried(iteration=self.iteration, kind="direct", query=answer))
        return Counter({answer[:_PARTIAL_CHARS]: weight for answer, weight in counts.items()})

    async def _queried(self, kind: str, queries: Sequence[str] = (), *, forced: bool = False) -> Counter[str]:
        """Return what queries of a kind, ``query`` or ``script``, gave, as text, with how many votes gave them; without
        a query one is written first."""
        counts = Counter(queries) or Counter({"": 1})
        asked = [self.contained("query", partial(self._rows, kind, query, forced), None) for query in counts]
        found = Counter[str]()
        for rows, weight in zip(await in_order(asked), counts.values(), strict=True):
            if rows is not None:
                found[_rows_text(rows)] += weight
        return found

    async def _rows(self, kind: str, query: str, forced: bool) -> QueryRows | None:
        """Return the rows of a query or of those that replace it; None where none gives any."""
        language: Language = "python" if kind == "script" else self.graph.language
        tried: list[str] = []
        for retry in range(MOST_FIXES + 1):
            if retry or not query:
                wrong = tried[-1] if retry else ""
                asked = self.steps.query(self.view(), wrong, language=language, forced=forced)
                query = await self.contained("query", asked, "")
            if not query or query in tried:
                break
            rows = await self._fixed(kind, language, query, tried)
            if rows is not None and any(value not in (None, "", [], ()) for row in rows.rows for value in row):
                return rows
        self._take_fruitless(tried)
        return None

    def _take_fruitless(self, queries: Sequence[str]) -> None:
        self.fruitless.extend(each for each in dict.fromkeys(queries) if each not in self.fruitless)

    async def _fixed(self, kind: str, language: Language, query: str, tried: list[str]) -> QueryRows | None:
        """Run a query, corrected a few times, and add to what was tried."""
        # A script runs on a copy of the state, as the store in memory has it, where the graph itself is not asked by Python.
        copied = kind == "script" and self.graph.language != "python"
        graph = MemoryGraph(self.sandbox, self.state) if copied else self.graph
        for fix in range(MOST_FIXES + 1):
            tried.append(query)
            try:
                rows = cleaned(await graph.query(query))
            except StatementError as error:  # of any other error another query would not mend the cause
                fault = clean_text(error.problem)
                emit(events.Queried(iteration=self.iteration, kind=kind, query=query, fault=fault))
            else:
                emit(events.Queried(iteration=self.iteration, kind=kind, query=query, rows=rows))
                return rows
            if fix == MOST_FIXES:
                break
            query = await self.contained("fix query", self.steps.fix_query(query, fault, language=language), "")
            if not query or query in tried:
                break
        return None

    async def _final_answer(self, partials: Counter[str]) -> str:
        """Return the most frequent final answer, of equally frequent ones the first; empty where none is usable.
        ``partials`` are what queries gave, or answers that were read off the graph, with how many votes gave each."""
        if not partials:
            return ""
        computed = await in_order([self.contained("maths", partial(self._computed, text), text) for text in partials])
        view, times = self.view(), range(self.settings.max_final_solution_parsing)
        asked = [
            self.contained("final answer", partial(self.steps.final, view, text, nth), "")
            for text in computed
            for nth in times
        ]
        answers = [answer.strip() for answer in await in_order(asked)]
        weights = [weight for weight in partials.values() for _ in times]
        counts, forms = Counter[str](), dict[str, str]()
        for answer, weight in zip(answers, weights, strict=True):
            if answer:
                form = " ".join(answer.split()).casefold()
                counts[form] += weight
                forms.setdefault(form, answer)
        chosen = forms[counts.most_common(1)[0][0]] if counts else ""
        emit(events.Parsed(answers=tuple(answers), chosen=chosen))
        return chosen

    async def _computed(self, partial: str) -> str:
        """Return a partial answer with what Python computes of it, on a line of its own, where something is left to compute."""
        code = await self.contained("maths", self.steps.maths(self.view(), partial), "")
        tried: list[str] = []
        while code and code not in tried and len(tried) <= MOST_FIXES:
            tried.append(code)
            result = cleaned(await self.sandbox.run(code))
            output = result.stdout.strip()[:_PARTIAL_CHARS]
            fault = "" if output else "the code printed nothing"
            if result.ended != "ok":
                fault = f"{result.ended}: {result.stderr.strip()[-_FAULT_CHARS:]}".removesuffix(": ")
            emit(events.Computed(iteration=self.iteration, code=code, output=output, fault=fault))
            if not fault:
                return f"{partial}\nComputed: {output}"
            code = await self.contained("fix code", self.steps.fix_code(code, fault), "")
        if tried:
            self.drop("maths", "no code for what is left to compute has run")
        return partial


def graph_text(state: GraphState, most: int) -> str:
    """Return a graph as prompts have it: the whole of it, or where that has more than so many characters the first of
    each label and type, with counts of all; a summary that is longer all the same is cut at the end of a line."""
    text = graphs.state_text(state, longest=_VALUE_CHARS)
    if len(text) <= most:
        return text
    labels = {node.id: node.label for node in state.nodes}
    groups: dict[str, list[Mapping[str, Value]]] = {}
    for node in state.nodes:
        groups.setdefault(f"nodes {node.label}", []).append(node.properties)
    for edge in state.edges:
        ends = f"({labels[edge.source]})-[{edge.type}]->({labels[edge.target]})"
        groups.setdefault(f"relationships {ends}", []).append(edge.properties)
    counts = "The graph is too large to list. A query sees all of it; below the counts only the first of each label and type stand.\n"
    for name, members in sorted(groups.items()):
        told = ", ".join(f"{key} ({values})" for key, values in _value_counts(members).items())
        counts += f"- {len(members)} {name}" + (f": {told}\n" if told else "\n")
    for shown in _SHOWN:
        text = counts + graphs.state_text(_first(state, shown), longest=_VALUE_CHARS)
        if len(text) <= most:
            return text
    kept = text[:most].rpartition("\n")[0]
    return f"{kept}\n({text.count(chr(10)) - kept.count(chr(10))} more lines are left out)"


def _value_counts(members: Sequence[Mapping[str, Value]]) -> dict[str, str]:
    """Return how many values each property has, and which where they are few."""
    values: dict[str, dict[Value, None]] = {}
    for key, value in (item for each in members for item in each.items()):
        values.setdefault(key, {})[value] = None
    told = {key: f"{len(found)} values" for key, found in values.items()}
    for key, found in values.items():
        listed = json.dumps(list(found), ensure_ascii=False) if len(found) <= _FEW_VALUES else ""
        if 0 < len(listed) <= _LISTED_CHARS:
            told[key] += f": {listed[1:-1]}"
    return told


def _first(state: GraphState, most: int) -> GraphState:
    """Return so many nodes of each label, and edges of each type between them."""
    seen: Counter[str] = Counter()

    def is_first(name: str) -> bool:
        seen[name] += 1
        return seen[name] <= most

    nodes = tuple(node for node in state.nodes if is_first(f"node {node.label}"))
    ids = {node.id for node in nodes}
    between = (edge for edge in state.edges if edge.source in ids and edge.target in ids)
    return GraphState(nodes=nodes, edges=tuple(edge for edge in between if is_first(edge.type)))


class Table(NamedTuple):
    """Rows of an answer that are too many for a prompt: they become nodes with a label, and a prompt has what
    :meth:`shown` says, with the rest of the answer, for example where its next page is."""

    label: str
    rows: tuple[Mapping[str, Value], ...]
    rest: Mapping[str, Any]

    def shown(self) -> dict[str, Any]:
        """Return what a model is told of it, as JSON values: where it stands, its columns with the number of their values, the first rows."""
        return {
            **self.rest,
            "note": f"All {len(self.rows)} rows stand in the graph already, each as a node with the label {self.label}: do not write them again.",
            "columns": _value_counts(self.rows),
            "first_rows": list(self.rows[:_SAMPLES]),
        }


def table_of(tool: str, body: Any) -> Table | None:
    """Return the table that an answer is or has under a key: a list of 51 objects or more; None where it has none.
    Nodes are called after the tool where the answer names no file."""
    named = body if isinstance(body, Mapping) else {}
    lists = [each for each in (body, *named.values()) if isinstance(each, list)]
    rows = max(lists, key=len, default=[])
    if len(rows) < _LEAST_ROWS or not all(isinstance(row, Mapping) for row in rows):
        return None
    file = named.get("file")
    stem = PurePath(file).stem if isinstance(file, str) else tool
    label = "".join(word[:1].upper() + word[1:] for word in re.findall(r"[^\W_]+", stem))
    described = _DESCRIBING if named.get("row_count") == len(rows) else ()
    rest = {name: value for name, value in named.items() if value is not rows and name not in described}
    return Table(f"{label if label[:1].isalpha() else ''}Row", tuple(map(_cells, rows)), rest)


def _cells(row: Mapping[Any, Any]) -> dict[str, Value]:
    used, cells = Counter[str](), dict[str, Value]()
    for name, value in row.items():
        key = re.sub(r"\W+", "_", str(name)).strip("_") or "column"
        used[key] += 1
        key += "_" * (used[key] - 1)
        if value is not None:
            is_scalar = isinstance(value, bool | int | float | str)
            cells[key] = value if is_scalar else json.dumps(value, ensure_ascii=False, default=str)
    return cells


def _rows_text(rows: QueryRows) -> str:
    """Return rows on one line as a JSON list of objects by column; as lists where two columns have one name. Rows
    beyond the most characters are left out, and a second line says so; a first row that is longer is cut."""
    by_name = len(set(rows.columns)) == len(rows.columns)
    shown: list[str] = []
    size = 0
    for row in rows.rows:
        value = dict(zip(rows.columns, row, strict=True)) if by_name else list(row)
        text = json.dumps(value, ensure_ascii=False, default=str)
        size += len(text) + 2
        if size > _PARTIAL_CHARS and shown:
            break
        shown.append(text if len(text) <= _PARTIAL_CHARS else f"{text[:_PARTIAL_CHARS]}…")
    line, left_out = f"[{', '.join(shown)}]", len(rows.rows) - len(shown)
    if not left_out and not rows.cut:
        return line
    return f"{line}\n({f'{left_out} more rows' if not rows.cut else 'more rows'} are left out)"
