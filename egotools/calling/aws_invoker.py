"""Calling operations of AWS services."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from egotools.calling.invoker import MAX_BYTES, TIMEOUT_S, ToolAnswer, too_large, too_slow, unreachable
from egotools.calling.tool_request import AwsCall
from egotools.client_errors import MissingPackageError, ToolRequestError
from egotools.values import Tool

_VALUE = re.compile(r", value: .*?(?=, (?:type|valid|min|max))", re.DOTALL)  # in the errors of botocore


def _aws(call: AwsCall, session: Any, endpoint_url: str, timeout_s: float, max_bytes: int) -> ToolAnswer:
    import botocore.session
    from botocore import xform_name
    from botocore.config import Config

    config = Config(connect_timeout=timeout_s, read_timeout=timeout_s, retries={"total_max_attempts": 1})
    made = session or botocore.session.get_session()
    client = made.create_client(call.service, endpoint_url=endpoint_url or None, config=config)
    try:
        operation: Callable[..., dict[str, Any]] | None = getattr(client, xform_name(call.operation), None)
        if operation is None:
            raise ToolRequestError("the service has no such operation", call.operation, "Install a newer botocore.")
        shape = client.meta.service_model.operation_model(call.operation).input_shape
        answer = operation(**_with_bytes(call.arguments, shape, call.operation))
        status = answer.pop("ResponseMetadata", {}).get("HTTPStatusCode", "")
        for key, value in answer.items():
            if hasattr(value, "read"):  # of a stream its bytes
                with closing(value):
                    answer[key] = value.read(max_bytes + 1)
                if len(answer[key]) > max_bytes:
                    raise too_large(call.service, max_bytes)
        return ToolAnswer(ok=True, status=str(status), body=answer)
    finally:
        client.close()


def _with_bytes(value: Any, shape: Any, name: str) -> Any:
    """The arguments with bytes where the service wants a blob: in JSON it is text in base64, which botocore would encode again."""
    kind = getattr(shape, "type_name", "")
    if kind == "blob" and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except ValueError:
            raise ToolRequestError("the value is no base64", name, "Give bytes, or their base64.") from None
    if kind == "structure" and isinstance(value, Mapping):
        return {key: _with_bytes(inner, shape.members.get(key), key) for key, inner in value.items()}
    if kind == "map" and isinstance(value, Mapping):
        return {key: _with_bytes(inner, shape.value, name) for key, inner in value.items()}
    if kind == "list" and isinstance(value, list):
        return [_with_bytes(inner, shape.member, name) for inner in value]
    return value


class AwsInvoker:
    """Calls operations with the credentials and the region that botocore finds.

    :param endpoint_url: instead of the services' own.
    :param session: a session of botocore; a new one where left out.
    """

    def __init__(
        self, *, endpoint_url: str = "", timeout_s: float = TIMEOUT_S, max_bytes: int = MAX_BYTES, session: Any = None
    ) -> None:
        self._endpoint_url, self._session = endpoint_url, session
        self._timeout_s, self._max_bytes = timeout_s, max_bytes

    async def invoke(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See :class:`egotools.calling.invoker.ToolInvoker`; the values of the body may be dates and bytes, as botocore gives them.

        :raises MissingPackageError: when botocore is not installed.
        """
        call = tool.request(arguments)
        if not isinstance(call, AwsCall):
            raise ToolRequestError("this tool is not of AWS", tool.id, "Call it by its protocol.")
        try:
            import botocore.exceptions
        except ImportError as error:
            raise MissingPackageError("botocore") from error
        try:
            async with asyncio.timeout(self._timeout_s):
                return await asyncio.to_thread(
                    _aws, call, self._session, self._endpoint_url, self._timeout_s, self._max_bytes
                )
        except botocore.exceptions.ClientError as error:  # the service answered with an error
            body = {key: value for key, value in error.response.items() if key != "ResponseMetadata"}
            code = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", "")
            status = f"{code} {error.response.get('Error', {}).get('Code', '')}".strip()
            return ToolAnswer(ok=False, status=status, body=body)
        except (TimeoutError, botocore.exceptions.ReadTimeoutError, botocore.exceptions.ConnectTimeoutError):
            raise too_slow(call.service, self._timeout_s) from None
        except (botocore.exceptions.HTTPClientError, botocore.exceptions.ConnectionError) as error:
            raise unreachable(call.service, type(error).__name__) from None
        except botocore.exceptions.BotoCoreError as error:
            remedy = "Correct the arguments, or the configuration of AWS on this machine."
            problem = " ".join(_VALUE.sub("", str(error)).split())[:500]
            raise ToolRequestError(problem, call.operation, remedy) from None
