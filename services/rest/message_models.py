"""Models of the public contract's messages, made from their descriptors: they check the requests and describe the answers.

A request is refused for a field that its message does not have, and for a value of another type. Every field of an answer is there,
except a field that has a presence of its own and no value.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic_core import PydanticCustomError

from retrieval.query.request import is_unicode
from services.rest.contract_comments import comment
from services.server.error_status import cut

__all__ = ["MessageModel", "answer_model", "query_model", "request_model"]


def _unicode(text: str) -> str:
    """The text, where it can be sent: JSON can write half of a pair of surrogates, ``\\ud800``, which is no character."""
    if not is_unicode(text):
        context = {"remedy": "Send whole characters: no \\ud800 to \\udfff without the other half."}
        raise PydanticCustomError("not_unicode", "The text is not Unicode", context)
    return text


_Text: TypeAlias = Annotated[str, AfterValidator(_unicode)]
_SCALARS: dict[int, Any] = {
    FieldDescriptor.TYPE_STRING: _Text,
    FieldDescriptor.TYPE_BOOL: bool,
    FieldDescriptor.TYPE_DOUBLE: float,
    FieldDescriptor.TYPE_INT32: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)],
    FieldDescriptor.TYPE_INT64: int,
}
_REQUIRED = {
    "RetrieveBatchRequest.requests",
    "GetToolRequest.id",
    "NeighborsRequest.node",
    "ReportOutcomeRequest.request_id",
}
"""What the service refuses a request without. Its other rules are in the comments, and checked by the service alone."""
_MOST_ITEMS = 1_000  # no list or map of a request may have more, and nothing is made of those that have
_MOST_REQUESTS = 64
_LONGEST = 100  # characters of a name that is compared with the known ones


class MessageModel(BaseModel):
    """The base class: what it does not know is refused at the first field, so that many unknown ones cost nothing."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        unknown = (
            next((str(name) for name in given if name not in cls.model_fields), None)
            if isinstance(given, dict)
            else None
        )
        if unknown is not None:
            context = {"field": cut(unknown, 200), "remedy": _instead(unknown, list(cls.model_fields))}
            raise PydanticCustomError("unknown_field", "There is no such field", context)
        return given


def _instead(unknown: str, known: list[str]) -> str:
    """What to write where a field is not known, one sentence: the nearest ones, or all."""
    near = get_close_matches(unknown[:_LONGEST].lower(), known, n=2)
    return f"Did you mean {' or '.join(near)}?" if near else f"The fields are {', '.join(known)}."


class _QueryModel(MessageModel):
    """The same from a query string, where a number is a text."""

    model_config = ConfigDict(extra="forbid", strict=False, protected_namespaces=())


class _AnswerModel(BaseModel):
    model_config = ConfigDict(protected_namespaces=())


def request_model(message: Descriptor) -> type[BaseModel]:
    """Return the model of a request's body."""
    return _model(message, MessageModel)


def query_model(message: Descriptor, *without: str) -> type[BaseModel]:
    """Return the model of a request as a query string.

    :param without: fields that are given elsewhere.
    """
    return _model(message, _QueryModel, without)


def answer_model(message: Descriptor) -> type[BaseModel]:
    """Return the model of an answer."""
    return _model(message, _AnswerModel)


@cache
def _model(message: Descriptor, base: type[BaseModel], without: tuple[str, ...] = ()) -> type[BaseModel]:
    # Of answers only the document is used; there the names are aliases, because pydantic has methods with some of them.
    ending = "_" if base is _AnswerModel else ""
    fields: dict[str, Any] = {
        field.name + ending: _field(message, field, base) for field in message.fields if field.name not in without
    }
    return create_model(message.name, __base__=base, __doc__=comment(message.name), **fields)


def _field(message: Descriptor, field: FieldDescriptor, base: type[BaseModel]) -> tuple[Any, Any]:
    name = f"{message.name}.{field.name}"
    described = comment(name) or None
    kind = _kind(field, base)
    if base is _AnswerModel:  # a default of its own would stand in the document, and is never sent
        absent: Any = {"default_factory": lambda: None} if field.has_presence else {}
        return kind, Field(alias=field.name, description=described, **absent)
    required = name in _REQUIRED
    if field.is_repeated:
        most = _MOST_REQUESTS if field.name == "requests" else _MOST_ITEMS
        kind = Annotated[kind, Field(min_length=int(required), max_length=most)]
        default: Any = {} if required else {"default_factory": list}
    elif required:
        kind, default = Annotated[kind, Field(min_length=1)], {}
    elif field.has_presence:
        kind, default = kind | None, {"default": None}
    else:
        default = {"default": field.enum_type.values[0].name if field.enum_type else field.default_value}
    return kind, Field(description=described, **default)


def _kind(field: FieldDescriptor, base: type[BaseModel]) -> Any:
    """The type of a field: of a list ``list[…]``, of a map ``dict[str, …]``."""
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return dict[_Text, _one(field.message_type.fields_by_name["value"], base)]  # type: ignore[misc]
    one = _one(field, base)
    return list[one] if field.is_repeated else one  # type: ignore[valid-type]


def _one(field: FieldDescriptor, base: type[BaseModel]) -> Any:
    if field.message_type is not None:
        return _model(field.message_type, base)
    if field.enum_type is not None:
        return Literal[tuple(value.name for value in field.enum_type.values)]
    return _SCALARS[field.type]
