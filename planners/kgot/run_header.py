"""What a journal says a run was begun with, checked once: it may be the journal of somebody else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ontology.errors import InvalidArgumentError
from ontology.first_error import first_error
from planners.calls.untrusted import cleaned
from planners.journal.journal_lines import DAMAGED
from planners.kgot.kgot_settings import KgotSettings
from planners.stores.property_graph import Language

__all__ = ["check_header", "settings_of"]

_SETTINGS_JSON: TypeAdapter[KgotSettings] = TypeAdapter(KgotSettings)
_RENAMED = {"max_calls": "max_calls_per_step"}  # names of an earlier release
_Pair: TypeAlias = Annotated[list[str], Field(min_length=2, max_length=2)]
_Prices: TypeAlias = Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2, max_length=2)]


class _About(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    write: str = ""  # of an earlier release


class _Header(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, strict=True, allow_inf_nan=False)

    question: str
    files: list[_Pair]
    language: str = Field(pattern=f"^({'|'.join(get_args(Language))})$")
    settings: dict[str, Any]
    models: dict[str, str]
    about: _About
    prices: dict[str, _Prices]
    fence_key: str = Field(pattern=r"^([0-9a-f]{2})*$")


def check_header(data: Mapping[str, Any], subject: str) -> None:
    """Check what a run was begun with.

    :raises InvalidArgumentError: when something is missing or has another form.
    """
    try:
        _Header.model_validate(cleaned(dict(data)))  # pydantic takes no lone surrogate
        settings_of(data)
    except ValidationError as error:
        raise InvalidArgumentError(
            f"the first record is damaged: {first_error(error)}", subject=subject, remedy=DAMAGED
        ) from None
    except RecursionError:
        raise InvalidArgumentError("the first record is nested too deeply", subject=subject, remedy=DAMAGED) from None


def settings_of(header: Mapping[str, Any]) -> KgotSettings:
    """Return the settings of a run for its replay, which has no limit of time, and waits for nothing."""
    given = {_RENAMED.get(name, name): value for name, value in header["settings"].items()}
    return _SETTINGS_JSON.validate_python({**given, "max_seconds": None, "tool_retry_delay_s": 0.0})
