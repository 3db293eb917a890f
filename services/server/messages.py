"""Messages of protobuf into requests, checked field by field and with what the work will cost; and values into messages."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from google.protobuf.descriptor import Descriptor

from egotools.codec import message_fields, valid_text
from egotools.v1 import egotools_pb2 as pb
from egotools.values import Response
from ontology.errors import InvalidArgumentError
from ontology.tool import Parameter, Tool
from ontology.tool_effects import effect_of
from retrieval.engine import Engine
from retrieval.query.request import PlanRequest, Request
from retrieval.response import BUDGETED
from services.schemas.call_schema import call_name, call_schema
from services.schemas.input_schema import MAX_DESCRIPTION, shortened
from services.server.calls import answer_too_large

_DEFAULT_K = 10
_MAX_FILTER_KEYS, _MAX_FILTER_VALUES, _MAX_FILTER_CHARS = 32, 256, 1_000
_MAX_PATTERNS, _MAX_PATTERN_CHARS = 256, 16_384  # of all keys together
_MAX_NODE_CHARS = 4_096
_DEFAULT_NEIGHBORS, _MAX_NEIGHBORS, _MAX_PREDICATES = 100, 1_000, 64
_DEFAULT_PAGE, _MAX_PAGE = 100, 5_000
_TOKEN_VERSION, _MAX_OFFSET_DIGITS = "1", 12
_FORMATS: dict[int, str] = {
    number: name.removeprefix("SCHEMA_FORMAT_").lower() for name, number in pb.SchemaFormat.items()
}
# Most fields of one request, with those of its parts. A request with every limit of the contract reached has 10,000.
MAX_FIELDS = 20_000
_SIZES = {1: 8, 5: 4}  # wire type → bytes of a fixed number
_VARINT, _TEXT = 0, 2


def check_fields(raw: bytes, kind: Descriptor, most: Mapping[str, int], most_fields: int = MAX_FIELDS) -> None:
    """Check the fields of a message that is not decoded yet, where two bytes may become a kilobyte; ``most`` values by repeated field."""
    limits = {kind.fields_by_name[name].number: limit for name, limit in most.items()}
    seen: Counter[int] = Counter()
    parts: list[tuple[int, int, Descriptor, int]] = [(0, len(raw), kind, 0)]
    while parts:
        at, end, part, outer = parts.pop()
        while at < end:
            tag, at = _number(raw, at)
            number, form = tag >> 3, tag & 7
            size = _SIZES.get(form, 0)
            if form in (_VARINT, _TEXT):
                value, at = _number(raw, at)
                size = value if form == _TEXT else 0
            top = outer or number
            seen[0] += 1
            seen[number] += not outer
            limit = most_fields if outer else limits.get(number, most_fields)
            if seen[0] > most_fields or seen[top] > limit:
                field = kind.fields_by_number.get(top)
                problem = f"there are more than {min(limit, most_fields):,} values"
                remedy = "Send fewer in one call, or split it into several"
                raise InvalidArgumentError(problem, subject=field.name if field else "request", remedy=remedy)
            inner = part.fields_by_number.get(number)
            if size and form == _TEXT and inner is not None and inner.message_type is not None:
                parts.append((at, min(at + size, end), inner.message_type, top))
            at += size


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """Read a variable-length number; (0, end) where there is none."""
    value = 0
    for place, byte in enumerate(raw[at : at + 10]):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    return 0, len(raw)


# -- cost --------------------------------------------------------------------------------------------------------------

_MS_OF_UNIT = 50.0
_MS = 10.0
_MS_OF_CHARACTER, _MOST_FULL_CHARACTERS = 0.02, 1_000  # beyond them the encoder reads no further
_MS_OF_LATER_CHARACTER = 0.0025
_MS_OF_TOOL, _MS_OF_REASONS, _MS_OF_SCHEMA = 0.5, 3.0, 0.5
_MOST_TOOLS = 500  # a request for 1,000 had at most 458 candidates
_MS_OF_FILTER_VALUE, _MS_OF_PATTERN_KEY = 0.025, 25.0  # all patterns of a key look once at all its values
_RANK_BM25, _MS_OF_RANK_BM25_CHARACTER = ("bm25-", "hybrid"), 0.25
# That the embedded cross-encoder reads: a text of 40 tokens with a need of few, and of up to 32. Measured on a processor with AVX2 alone,
# beside other work: 20 ms with a short need, 35 with a long one; on one with VNNI a third of that.
_MS_OF_PAIR, _MS_OF_PAIR_CHARACTER, _MOST_PAIR_CHARACTERS = 12.0, 0.1, 130
_MOST_PAIRS_MS = 10_000.0  # many are read in blocks, and each block looks at the deadline
_PAIRS = {"": 10, "default": 10, "paper": 1_000, "hybrid": 20}  # of a need, or of a request without needs
_PLAN_UNITS = 1


def request_cost(request: Request, *, reranked: bool = False) -> int:
    """Return the cost of a request in units of 50 ms, from 1 to about 170; without filters and needs, by a served
    preset, to about 43. ``reranked`` says whether the engine has a reranker."""
    characters = len(request.text) + sum(map(len, request.needs))  # each need is encoded alone and in the whole text
    schema = request.schema_format != "none" or request.budget_tokens > 0
    tool_ms = _MS_OF_TOOL + _MS_OF_REASONS * request.explain + _MS_OF_SCHEMA * schema
    spent_ms = _MS * (1 + len(request.needs)) + tool_ms * min(request.k, _MOST_TOOLS)
    spent_ms += _MS_OF_SCHEMA * BUDGETED * (request.budget_tokens > 0)
    spent_ms += _MS_OF_CHARACTER * min(characters, _MOST_FULL_CHARACTERS) + _MS_OF_LATER_CHARACTER * characters
    spent_ms += _MS_OF_RANK_BM25_CHARACTER * characters * request.preset.startswith(_RANK_BM25)
    for asked in (request.needs or (request.text,)) if reranked else ():
        pair_ms = _MS_OF_PAIR + _MS_OF_PAIR_CHARACTER * min(len(asked), _MOST_PAIR_CHARACTERS)
        spent_ms += min(pair_ms * _PAIRS.get(request.preset, 0), _MOST_PAIRS_MS)
    for values in request.filters.values():
        spent_ms += _MS_OF_FILTER_VALUE * len(values)
        spent_ms += _MS_OF_PATTERN_KEY * any(value.endswith("*") for value in values)
    return max(1, round(spent_ms / _MS_OF_UNIT))


def plan_cost(request: PlanRequest, *, reranked: bool = False) -> int:
    """Return the cost of a plan: that of the search, which is bounded, and of the retrieval where there is a query or a need."""
    return _PLAN_UNITS + (request_cost(request.retrieval(), reranked=reranked) if request.is_matched else 0)


def check_call_cost(costs: Sequence[int], most: int) -> None:
    """Check what a call with requests of these costs takes."""
    total = sum(costs)
    if total > most:
        ask = f"Split it into {-(-total // most)} calls or more, or ask" if len(costs) > 1 else "Ask"
        raise InvalidArgumentError(
            f"the call would cost {total:,} units, its dearest request {max(costs)}; at most {most:,} are allowed",
            subject="requests",
            remedy=f"{ask} for fewer tools, without reasons, in fewer words, with fewer keys of filters",
        )


# -- requests ----------------------------------------------------------------------------------------------------------


def decode_request(message: pb.RetrieveRequest) -> Request:
    """Decode one retrieval request. This and the others raise InvalidArgumentError, naming the invalid field."""
    return Request(
        schema_format=decode_schema_format(message.schema_format),
        query=message.query,
        k=message.k if message.HasField("k") else _DEFAULT_K,
        filters=_filters(message),
        preset=message.preset,
        explain=message.explain,
        auto_k=message.auto_k,
        done=tuple(dict.fromkeys(message.done)),
        have=dict(sorted(message.have.items())),
        explanation=message.explanation,
        abstain=message.abstain,
        needs=tuple(message.needs),
        budget_tokens=message.budget_tokens,
    )


def decode_plan(message: pb.PlanRequest) -> PlanRequest:
    """Decode a request for a plan."""
    return PlanRequest(
        goals=tuple(dict.fromkeys(message.goals)),
        query=message.query,
        done=tuple(dict.fromkeys(message.done)),
        have=dict(sorted(message.have.items())),
        preset=message.preset,
        abstain=message.abstain,
        needs=tuple(message.needs),
    )


def _filters(message: pb.RetrieveRequest) -> dict[str, tuple[str, ...]]:
    _at_most("filters", len(message.filters), _MAX_FILTER_KEYS, "keys")
    filters: dict[str, tuple[str, ...]] = {}
    for key in sorted(message.filters):
        values, field = message.filters[key].values, f"filters.{key[:100]}"
        if not key:
            raise _invalid("filters", "a key is empty", "Name the metadata to filter by")
        if not values:
            raise _invalid(field, "the key has no values", "Give the allowed values, or omit the key")
        _at_most(field, len(values), _MAX_FILTER_VALUES, "values")
        if len(key) > _MAX_FILTER_CHARS or any(not 0 < len(value) <= _MAX_FILTER_CHARS for value in values):
            raise _invalid(field, f"keys and values have 1 to {_MAX_FILTER_CHARS:,} characters")
        filters[key] = tuple(dict.fromkeys(values))
    patterns = [value for values in filters.values() for value in values if value.endswith("*")]
    _at_most("filters", len(patterns), _MAX_PATTERNS, "patterns")
    _at_most("filters", sum(map(len, patterns)), _MAX_PATTERN_CHARS, "characters of patterns")
    return filters


def decode_schema_format(number: int) -> str:
    """Return the name of a schema format."""
    if number not in _FORMATS:
        known = f"Use one of {', '.join(_FORMATS.values())}"
        raise _invalid("schema_format", f"there is no schema format {number}", known)
    return _FORMATS[number]


def decode_neighborhood(message: pb.NeighborsRequest) -> dict[str, Any]:
    """Decode a request for an ego graph: the arguments of :meth:`retrieval.engine.Engine.neighbors`."""
    limit = message.limit if message.HasField("limit") else _DEFAULT_NEIGHBORS
    if not 1 <= limit <= _MAX_NEIGHBORS:
        raise _invalid("limit", f"limit must be from 1 to {_MAX_NEIGHBORS:,}, not {limit}")
    _at_most("predicates", len(message.predicates), _MAX_PREDICATES, "predicates")
    _at_most("predicates", max(map(len, message.predicates), default=0), _MAX_FILTER_CHARS, "characters in one")
    predicates = tuple(dict.fromkeys(message.predicates))
    return {"node": decode_key("node", message.node), "predicates": predicates, "limit": limit}


def decode_page(message: pb.GetCatalogRequest, snapshot_id: str) -> tuple[int, int]:
    """Decode the requested page of tool ids: position of the first one, from 0, and maximum number."""
    size = message.page_size if message.HasField("page_size") else _DEFAULT_PAGE
    if not 0 <= size <= _MAX_PAGE:
        raise _invalid("page_size", f"page_size must be from 0 to {_MAX_PAGE:,}, not {size}")
    if not message.page_token:
        return 0, size
    try:
        token = base64.b64decode(message.page_token.encode(), altchars=b"-_", validate=True).decode()
        version, offset, snapshot = token.split(":", 2)
    except ValueError:  # also of base64 and of UTF-8
        version, offset, snapshot = "", "", ""
    is_offset = offset.isascii() and offset.isdecimal() and len(offset) <= _MAX_OFFSET_DIGITS
    if version != _TOKEN_VERSION or not is_offset:
        raise _invalid("page_token", "this is not a page token of this server", "Send next_page_token unchanged")
    if snapshot != snapshot_id:
        raise _invalid("page_token", "the token belongs to another snapshot", "Start again without a page token")
    return int(offset), size


def page_token(offset: int, snapshot_id: str) -> str:
    """Return the token of the page that starts at ``offset``."""
    return base64.urlsafe_b64encode(f"{_TOKEN_VERSION}:{offset}:{snapshot_id}".encode()).decode("ascii")


def decode_key(field: str, text: str) -> str:
    """Check the id of a tool or the name of a node, as its field has it."""
    if not text.strip():
        raise _invalid(field, f"the {field} is empty", f"Give the {field}")
    _at_most(field, len(text), _MAX_NODE_CHARS, "characters")
    return text


def _at_most(field: str, count: int, most: int, what: str) -> None:
    if count > most:
        raise _invalid(field, f"there are {count:,} {what}; at most {most:,} are allowed")


def _invalid(field: str, problem: str, remedy: str = "") -> InvalidArgumentError:
    return InvalidArgumentError(problem, subject=field, remedy=remedy)


_MOST = 2 * 1024 * 1024  # bytes of one engine's texts that are kept
_LONGEST = 8 * 1024  # bytes of one text that is kept; most have 300 to 500
_BYTES_PER_TOKEN = 3  # JSON has 2.2 to 2.8 by the encoder's tokenizer, three to four by those of large models


@dataclass(slots=True)
class _Texts:
    """The texts of one engine that are kept, by tool and schema format."""

    kept: dict[tuple[str, str], bytes] = field(default_factory=dict)
    size: int = 0  # in bytes


_KEPT: WeakKeyDictionary[Engine, _Texts] = WeakKeyDictionary()
_MOST_SIZES = 4_096  # of one engine that are kept: a schema of megabytes is measured once, not with each request
_SIZES_OF: WeakKeyDictionary[Engine, dict[tuple[str, str], int]] = WeakKeyDictionary()


def _text(engine: Engine, tool_id: str, schema_format: str) -> bytes:
    """The part of a message that depends on the tool alone; kept while its engine is served: to read a large tool takes a millisecond."""
    texts, key = _KEPT.setdefault(engine, _Texts()), (tool_id, schema_format)
    found = texts.kept.get(key)
    if found is None:
        tool = engine.tool(tool_id)
        schema = call_schema(tool, schema_format)
        message = pb.RankedTool(
            **_names(tool),
            description=valid_text(shortened(tool.description, MAX_DESCRIPTION)),
            schema_json=valid_text(schema.json),
            schema_notes=map(valid_text, schema.notes),
            call=pb.Call(**message_fields(tool.call)) if tool.call and schema_format != "none" else None,
        )
        found = message.SerializeToString()
        if texts.size + len(found) > _MOST:
            texts.kept.clear()
            texts.size = 0
        if len(found) <= _LONGEST:
            texts.kept[key] = found
            texts.size += len(found)
    return found


def tool_tokens(engine: Engine, tool_id: str, schema_format: str) -> int:
    """The tokens of a tool in an answer: one for each three bytes of its schema, or of its id and description where it has none."""
    kept, key = _SIZES_OF.setdefault(engine, {}), (tool_id, schema_format)
    tokens = kept.get(key)
    if tokens is None:
        tool = engine.tool(tool_id)
        text = call_schema(tool, schema_format).json or tool.id + shortened(tool.description, MAX_DESCRIPTION)
        tokens = -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)
        if len(kept) >= _MOST_SIZES:
            kept.clear()
        kept[key] = tokens
    return tokens


def response_message(
    engine: Engine, response: Response, *, schema_format: str, explain: bool, max_bytes: int
) -> pb.RetrieveResponse:
    """Encode a response with schemas of a format. The texts of the tools come from the engine; of more than ``max_bytes`` it is not finished."""
    message = pb.RetrieveResponse(**message_fields(replace(response, tools=())))
    size = 0
    for ranked in response.tools:
        texts = _text(engine, ranked.id, schema_format)
        size += len(texts)
        if size > max_bytes:
            raise answer_too_large(size, max_bytes)
        sent = message.tools.add()
        sent.ParseFromString(texts)
        sent.rank, sent.score, sent.explanation = ranked.rank, ranked.score, valid_text(ranked.explanation)
        sent.needs.extend(ranked.needs)
        sent.completes = ranked.completes
        if ranked.probability is not None:
            sent.probability = ranked.probability
        if explain:
            sent.reasons.CopyFrom(pb.Reasons(**message_fields(ranked.reasons)))
    return message


def tool_message(tool: Tool, schema_notes: Sequence[str] = ()) -> pb.Tool:
    """Encode all fields of a tool, with the notes on its call schema."""
    return pb.Tool(
        **_names(tool),
        description=valid_text(tool.description),
        parameters=map(_parameter_message, tool.parameters),
        returns=map(_parameter_message, tool.returns),
        depends_on=[
            pb.Dependency(
                tool_id=valid_text(dependency.tool),
                parameter=valid_text(dependency.parameter),
                output=valid_text(dependency.output),
                reason=valid_text(dependency.reason),
            )
            for dependency in tool.depends_on
        ],
        metadata_json=_json_text(tool.metadata),
        input_schema_json=_json_text(tool.input_schema),
        output_schema_json=_json_text(tool.output_schema),
        call=pb.Call(**message_fields(tool.call)) if tool.call else None,
        schema_notes=map(valid_text, schema_notes),
    )


def _names(tool: Tool) -> dict[str, Any]:
    texts = {"id": tool.id, "name": tool.name, "title": tool.title, "namespace": tool.namespace}
    named = {field: valid_text(text) for field, text in texts.items()}
    return {**named, "call_name": call_name(tool), "effect": effect_of(tool)}


def _parameter_message(parameter: Parameter) -> pb.Parameter:
    return pb.Parameter(**{**message_fields(parameter), "bounds": dict(parameter.bounds)})


def _json_text(value: Mapping[str, Any] | None) -> str:
    return "" if value is None else valid_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def catalog_message(engine: Engine, tool_ids: Sequence[str], next_page_token: str) -> pb.GetCatalogResponse:
    """Encode the description of a snapshot and of its namespaces, with one page of its tool ids."""
    page = replace(
        engine.catalog(), namespaces=engine.namespaces, tool_ids=tuple(tool_ids), next_page_token=next_page_token
    )
    return pb.GetCatalogResponse(**message_fields(page))
