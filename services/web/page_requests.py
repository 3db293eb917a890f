"""The bodies of the page's requests."""

from __future__ import annotations

from typing import Annotated, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

from ontology.errors import InvalidArgumentError
from ontology.first_error import first_error

__all__ = [
    "Approved",
    "Branched",
    "Consented",
    "QuestionAsked",
    "RunAsked",
    "ToolsAsked",
    "number",
    "read_body",
]

_MAX_QUERY_CHARS = 20_000
_Words: TypeAlias = Annotated[str, Field(min_length=1, max_length=_MAX_QUERY_CHARS)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ToolsAsked(_Form):
    """A request for tools: words, needs, or both. The service says what is wrong with them."""

    query: str = Field(default="", max_length=_MAX_QUERY_CHARS)
    needs: list[str] = Field(default_factory=list)
    k: int = Field(default=10, ge=1, le=100)


class RunAsked(_Form):
    """A request for a run."""

    query: _Words
    domain: str = Field(default="", max_length=200)


class Branched(_Form):
    """A turn of a conversation that is to go another way."""

    turn: int = Field(ge=1)
    step: int = Field(ge=0)


class QuestionAsked(_Form):
    """A question of a graph; of a new conversation where ``talk`` is empty."""

    query: _Words
    talk: str = Field(default="", max_length=100)
    branch: Branched | None = None


class Consented(_Form):
    """The answer to a question of a run."""

    question: str = Field(max_length=100)
    allowed: bool


class Approved(_Form):
    """The release of a tool by its id, or of the tools that a pattern matches."""

    tool: str = Field(default="", max_length=2_000)
    pattern: str = Field(default="", max_length=2_000)
    reason: str = Field(min_length=1, max_length=2_000, pattern=r"\S")


_T = TypeVar("_T", bound=_Form)


async def read_body(request: Request, form: type[_T]) -> _T:
    """Return the body of a request.

    :raises InvalidArgumentError: when it is not JSON of this form.
    """
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise InvalidArgumentError("the body is not JSON", subject="content-type", remedy="Send application/json")
    try:
        return form.model_validate_json(await request.body())
    except ValidationError as error:
        raise InvalidArgumentError(first_error(error), subject="body", remedy="Correct the request") from error


def number(request: Request, name: str, default: int, most: int) -> int:
    """Return a number of the address, 0 to ``most``.

    :raises InvalidArgumentError: when it is none.
    """
    text = request.query_params.get(name, str(default))
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise InvalidArgumentError(f"{text[:40]!r} is no number", subject=name, remedy="Write digits")
    return min(int(text), most)
