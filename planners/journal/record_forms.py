"""The forms of records, by their kind: a journal of somebody else may say anything, and is checked before it is believed."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ontology.errors import InvalidArgumentError
from ontology.first_error import first_error
from planners.calls.clean_values import cleaned
from planners.journal.journal_lines import DAMAGED
from planners.journal.run_journal import RunJournal

__all__ = ["check_records"]

_Digest: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Count: TypeAlias = Annotated[int, Field(ge=0, lt=2**53)]
_Seconds: TypeAlias = Annotated[float, Field(ge=0)]


class _Form(BaseModel):
    """Further fields are allowed: another release may write more."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True, allow_inf_nan=False)


class _Request(_Form):
    key: str
    nth: _Count


class _Fault(_Request):
    problem: str
    subject: str
    remedy: str


class _ClientFault(_Request):
    code: str
    message: str


class _CallFailed(_ClientFault):
    tool: str
    seconds: _Seconds


class _Found(_Form):
    request: str
    tools: _Digest


class _CallBegun(_Request):
    tool: str
    arguments: _Digest


class _CallEnded(_Request):
    tool: str
    seconds: _Seconds
    ok: bool
    status: str
    media_type: str
    size: _Count
    rows: _Count = 0
    body: _Digest
    notes: list[str] = Field(default_factory=list)
    retry_after: str = ""


class _Prompt(_Form):
    tokens: _Count
    counter: str


class _ModelEnded(_Request):
    step: str
    seconds: _Seconds
    prompt_tokens: _Count
    completion_tokens: _Count
    truncated: bool
    usd: _Seconds
    prompt: _Digest
    completion: _Digest


class _ModelFailed(_Fault):
    step: str
    seconds: _Seconds


class _SandboxEnded(_Request):
    seconds: _Seconds
    result: _Digest


class _SandboxFailed(_Fault):
    seconds: _Seconds


class _GraphEnded(_Request):
    state: _Digest | None = None
    result: _Digest | None = None


class _Called(_Form):
    tool_id: str


class _What(_Form):
    event: str
    tool_ids: list[str] = Field(default_factory=list)
    call: _Called | None = None


class _Event(_Request):
    what: _What
    state: _Digest | None = None


class _RunEnded(_Form):
    answer: _Digest
    events: _Count
    seconds: _Seconds


class _RunStopped(_Form):
    outcome: str
    missing: str
    seconds: _Seconds


class _StepEnded(_Request):
    result: _Digest


_FORMS: dict[str, type[_Form]] = {
    "call_begun": _CallBegun,
    "call_ended": _CallEnded,
    "call_failed": _CallFailed,
    "event": _Event,
    "find_failed": _ClientFault,
    "found": _Found,
    "graph_ended": _GraphEnded,
    "graph_failed": _Fault,
    "model_ended": _ModelEnded,
    "model_failed": _ModelFailed,
    "prompt": _Prompt,
    "run_ended": _RunEnded,
    "run_stopped": _RunStopped,
    "sandbox_ended": _SandboxEnded,
    "sandbox_failed": _SandboxFailed,
    "step_ended": _StepEnded,
}


def check_records(journal: RunJournal) -> None:
    """Check each record of the journal of a solved task; kinds that are not known are left.

    :raises InvalidArgumentError: when one has not the form of its kind.
    """
    for record in journal.records:
        form = _FORMS.get(record.kind)
        if form is not None:
            _check(form, record.data, f"{journal.path}:{record.n + 1}")


def _check(form: type[_Form], data: Any, subject: str) -> None:
    try:
        form.model_validate(cleaned(dict(data)))  # pydantic takes no lone surrogate
    except (ValidationError, RecursionError) as error:
        problem = first_error(error) if isinstance(error, ValidationError) else "it is nested too deeply"
        raise InvalidArgumentError(f"the record is damaged: {problem}", subject=subject, remedy=DAMAGED) from None
