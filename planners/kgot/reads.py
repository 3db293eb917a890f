"""Asking the graph for the answer: by queries, by scripts, by reading the whole of it, or by all of these (section 4.2, appendix C.3).

A failing query is corrected, and one that gives nothing is written anew from the failed one. Of what it gives, what is left to compute is
computed, and the most frequent of several forms wins.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from ontology.errors import StatementError
from planners.calls.clean_values import clean_text, cleaned
from planners.journal.step_log import emit, in_order
from planners.kgot.kgot_events import Computed, Parsed, Queried
from planners.kgot.run_state import RunState
from planners.stores.memory_graph import MemoryGraph
from planners.stores.property_graph import Language, QueryRows

__all__ = ["force_answer", "force_query", "solve"]

_COMPUTED = "Computed: "
"""Stands in a partial answer before what Python made of it, on a line of its own."""
_PARTIAL_CHARS = 16_000
_OUTPUT_CHARS = 16_000
_FAULT_CHARS = 2_000  # the end of a traceback says what went wrong


async def solve(run: RunState, queries: Sequence[str]) -> str:
    """Return the answer, or empty where the graph gives none.

    :param queries: of all votes; equal ones are run once and count as often as they were given. Where the run retrieves without
        queries, the answers that the votes read off the graph.
    """
    match run.settings.retrieve:
        case "fusion":  # each answer counts as often as votes gave its query
            ways = [_asked(run, "query", queries), _asked(run, "script", ()), _direct(run, ())]
            partials = sum(await in_order(ways), start=Counter[str]())
        case "direct":
            partials = await _direct(run, queries)
        case kind:
            partials = await _asked(run, kind, queries)
    answer = await _final_answer(run, partials)
    if not answer:  # also where a query gave rows that are no answer: the next votes see it
        _take_fruitless(run, queries)
    return answer


async def force_query(run: RunState) -> str:
    """Return the answer of a query that is the best that can be had, or empty."""
    kind = run.settings.retrieve
    if kind == "direct":
        return ""
    return await _final_answer(run, await _asked(run, "script" if kind == "script" else "query", (), forced=True))


async def force_answer(run: RunState) -> str:
    """Return the answer that is read off the graph as far as it goes, or empty."""
    answer = await run.contained("forced answer", run.steps.direct(run.view(), forced=True), "")
    return await _final_answer(run, _told(run, [answer]))


async def _direct(run: RunState, answers: Sequence[str]) -> Counter[str]:
    if not answers:
        answers = [await run.contained("direct answer", run.steps.direct(run.view(), forced=False), "")]
    return _told(run, answers)


def _told(run: RunState, answers: Sequence[str]) -> Counter[str]:
    counts = Counter(answer.strip() for answer in answers if answer.strip())
    for answer in counts:
        emit(Queried(iteration=run.iteration, kind="direct", query=answer))
    return Counter({answer[:_PARTIAL_CHARS]: weight for answer, weight in counts.items()})


async def _asked(run: RunState, kind: str, queries: Sequence[str], *, forced: bool = False) -> Counter[str]:
    """Return what queries gave, as text, with how many votes gave them; without a query one is written first.

    :param kind: ``query`` or ``script``.
    """
    counts = Counter(queries) or Counter({"": 1})
    rows = await in_order([run.contained("query", _rows(run, kind, query, forced=forced), None) for query in counts])
    found = Counter[str]()
    for each, weight in zip(rows, counts.values(), strict=True):
        if each is not None:
            found[_rows_text(each, _PARTIAL_CHARS)] += weight
    return found


async def _rows(run: RunState, kind: str, query: str, *, forced: bool) -> QueryRows | None:
    """Return the rows of a query or of those that replace it; None where none gives any."""
    language: Language = "python" if kind == "script" else run.graph.language
    tried: list[str] = []
    for retry in range(run.settings.max_retrieve_query_retry + 1):
        if retry or not query:
            wrong = tried[-1] if retry else ""
            asked = run.steps.query(run.view(), wrong, language=language, forced=forced)
            query = await run.contained("query", asked, "")
        if not query or query in tried:
            break
        rows = await _fixed(run, kind, language, query, tried)
        if rows is not None and any(value not in (None, "", [], ()) for row in rows.rows for value in row):
            return rows
    _take_fruitless(run, tried)
    return None


def _take_fruitless(run: RunState, queries: Sequence[str]) -> None:
    run.fruitless.extend(each for each in dict.fromkeys(queries) if each not in run.fruitless)


async def _fixed(run: RunState, kind: str, language: Language, query: str, tried: list[str]) -> QueryRows | None:
    """Run a query, corrected as often as the settings allow, and add to what was tried."""
    for fix in range(run.settings.max_cypher_fixing_retry + 1):
        tried.append(query)
        try:
            rows = cleaned(await _run_query(run, kind, query))
        except StatementError as error:  # of any other error another query would not mend the cause
            fault = clean_text(error.problem)
            emit(Queried(iteration=run.iteration, kind=kind, query=query, fault=fault))
        else:
            emit(Queried(iteration=run.iteration, kind=kind, query=query, rows=rows))
            return rows
        if fix == run.settings.max_cypher_fixing_retry:
            break
        query = await run.contained("fix query", run.steps.fix_query(query, fault, language=language), "")
        if not query or query in tried:
            break
    return None


async def _run_query(run: RunState, kind: str, query: str) -> QueryRows:
    """Run a query; a script on a copy of the state, as the store in memory has it, where the graph itself is not asked by Python."""
    limits = run.settings.query_limits
    if kind == "script" and run.graph.language != "python":
        return await MemoryGraph(run.sandbox, run.state).query(query, limits=limits)
    return await run.graph.query(query, limits=limits)


def _rows_text(rows: QueryRows, most: int) -> str:
    """Return rows on one line as a JSON list of objects by column; as lists where two columns have one name.

    :param most: characters of the list. Rows beyond are left out, and a second line says so; a first row that is longer is cut.
    """
    by_name = len(set(rows.columns)) == len(rows.columns)
    shown: list[str] = []
    size = 0
    for row in rows.rows:
        value = dict(zip(rows.columns, row, strict=True)) if by_name else list(row)
        text = json.dumps(value, ensure_ascii=False, default=str)
        size += len(text) + 2
        if size > most and shown:
            break
        shown.append(text if len(text) <= most else f"{text[:most]}…")
    line = f"[{', '.join(shown)}]"
    left_out = len(rows.rows) - len(shown)
    if not left_out and not rows.cut:
        return line
    return f"{line}\n({f'{left_out} more rows' if not rows.cut else 'more rows'} are left out)"


async def _final_answer(run: RunState, partials: Counter[str]) -> str:
    """Return the most frequent final answer, of equally frequent ones the first; empty where none is usable.

    :param partials: what queries gave, or answers that were read off the graph, with how many votes gave each.
    """
    if not partials:
        return ""
    computed = await in_order([run.contained("maths", _computed(run, text), text) for text in partials])
    times = run.settings.max_final_solution_parsing
    view = run.view()
    asked = [(text, nth) for text in computed for nth in range(times)]
    answers = await in_order(
        [run.contained("final answer", run.steps.final(view, text, nth), "") for text, nth in asked]
    )
    weights = [weight for weight in partials.values() for _ in range(times)]
    counts = Counter[str]()
    forms: dict[str, str] = {}
    for answer, weight in zip(answers, weights, strict=True):
        if text := answer.strip():
            form = " ".join(text.split()).casefold()
            counts[form] += weight
            forms.setdefault(form, text)
    chosen = forms[counts.most_common(1)[0][0]] if counts else ""
    emit(Parsed(answers=tuple(answer.strip() for answer in answers), chosen=chosen))
    return chosen


async def _computed(run: RunState, partial: str) -> str:
    """Return a partial answer with what Python computes of it, where something is left to compute."""
    code = await run.contained("maths", run.steps.maths(run.view(), partial), "")
    tried: list[str] = []
    while code and code not in tried and len(tried) <= run.settings.max_cypher_fixing_retry:
        tried.append(code)
        result = cleaned(await run.sandbox.run(code))
        output, fault = result.stdout.strip()[:_OUTPUT_CHARS], ""
        if result.ended != "ok":
            fault = f"{result.ended}: {result.stderr.strip()[-_FAULT_CHARS:]}".removesuffix(": ")
        elif not output:
            fault = "the code printed nothing"
        emit(Computed(iteration=run.iteration, code=code, output=output, fault=fault))
        if not fault:
            return f"{partial}\n{_COMPUTED}{output}"
        code = await run.contained("fix code", run.steps.fix_code(code, fault), "")
    if tried:
        run.drop("maths", "no code for what is left to compute has run")
    return partial
