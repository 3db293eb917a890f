"""The client of OpenAI-compatible endpoints, and its errors as ours."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from inference.bounded_answers import IDENTITY, bound_answers
from inference.retry import (
    TRANSIENT_STATUSES,
    RetryPolicy,
    TransientFailure,
    call_with_retries,
    parse_retry_after,
)
from ontology.errors import InvalidArgumentError, MissingExtraError, ModelError
from ontology.redaction import redacted_url
from ontology.urls import check_http_url

__all__ = ["OpenAIEndpoint"]

T = TypeVar("T")

KEY_VARIABLE = "OPENAI_API_KEY"
NO_KEY = "none"
"""The client requires a key; servers on a private network often need none."""
MAX_DETAIL_CHARS = 200


class OpenAIEndpoint:
    """One model at one OpenAI-compatible base URL, through the ``openai`` client.

    :param model: the name of the model at the server.
    :param base_url: up to and including ``/v1``, or the corresponding path of the server.
    :param api_key: sent as bearer token; the variable ``OPENAI_API_KEY`` where None; never shown.
    :param timeout_s: an attempt without an answer after so many seconds counts as failed.
    :raises MissingExtraError: without the extra ``llm``.
    """

    def __init__(
        self, model: str, *, base_url: str, api_key: str | None, timeout_s: float, policy: RetryPolicy
    ) -> None:
        if not model:
            raise InvalidArgumentError("the name of the model is empty", subject="model", remedy="Name a model")
        if not timeout_s > 0:
            raise InvalidArgumentError(
                f"a timeout of {timeout_s} s is too short", subject="timeout_s", remedy="Use more than 0"
            )
        check_http_url(base_url, subject="base_url")
        try:
            import openai
        except ImportError as error:
            raise MissingExtraError("OpenAI-compatible endpoints", extra="llm") from error
        self._openai = openai
        self._key = api_key or os.environ.get(KEY_VARIABLE) or NO_KEY
        self._policy = policy
        self.model = model
        self.address = redacted_url(base_url).rstrip("/")
        self.name = f"openai:{model}@{self.address}"
        # The retries are those of our policy, not of the client.
        self.client = openai.OpenAI(
            api_key=self._key,
            base_url=base_url,
            timeout=timeout_s,
            max_retries=0,
            default_headers=IDENTITY,
            http_client=bound_answers(openai.DefaultHttpxClient(follow_redirects=False), self.address, timeout_s),
        )

    def __repr__(self) -> str:
        return f"OpenAIEndpoint({self.name!r})"

    def call(self, attempt: Callable[[], T]) -> T:
        """Run one call of the client under the retry policy.

        :raises ModelError: when the endpoint is unavailable or slow, rejects the call, or its answer is invalid.
        """
        return call_with_retries(lambda: self._attempt(attempt), policy=self._policy, subject=self.address)

    def invalid_answer(self, problem: str) -> ModelError:
        """The error for an answer that cannot be used."""
        return ModelError(
            problem,
            subject=self.address,
            remedy=f"Check that the endpoint serves {self.model!r} with the OpenAI protocol",
        )

    def _attempt(self, attempt: Callable[[], T]) -> T:
        # `from None`: the errors of the client may contain headers, keys or addresses with passwords.
        try:
            return attempt()
        except self._openai.APITimeoutError:
            raise TransientFailure("the endpoint did not answer in time") from None
        except self._openai.APIConnectionError as error:
            if isinstance(error.__cause__, ModelError | TransientFailure):
                raise error.__cause__ from None
            raise TransientFailure("the endpoint cannot be reached, or closed the connection") from None
        except self._openai.APIStatusError as error:
            raise self._status_error(error) from None
        except (self._openai.OpenAIError, ValueError, TypeError, AttributeError, RecursionError):
            raise self.invalid_answer("the endpoint's answer does not follow the OpenAI protocol") from None

    def _status_error(self, error: Any) -> Exception:
        problem = f"the endpoint answered HTTP {error.status_code}"
        if error.status_code in TRANSIENT_STATUSES:
            after = parse_retry_after(error.response.headers.get("retry-after"))
            return TransientFailure(problem, retry_after_s=after)
        if error.status_code in {401, 403}:
            remedy = f"Give a key that may call {self.model!r}: export {KEY_VARIABLE}=KEY"
            return ModelError(problem, subject=self.address, remedy=remedy)
        detail = self._detail(error)
        return self.invalid_answer(f"{problem}: {detail}" if detail else problem)

    def _detail(self, error: Any) -> str:
        body = error.body if isinstance(error.body, dict) else {}
        message = body.get("message")
        if not isinstance(message, str):
            return ""
        return " ".join(message.replace(self._key, "***").split())[:MAX_DETAIL_CHARS].rstrip(".")
