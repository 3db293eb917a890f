"""The chat model of an account: no answer of a slow one is given up, since a second attempt would cost as much again."""

from __future__ import annotations

from inference import OpenAIChat, RetryPolicy

__all__ = ["patient_chat"]

_ANSWER_S = 3_600.0
_RETRIES = RetryPolicy(max_retries=5, base_delay_s=1.0, max_delay_s=60.0)  # a server that starts anew is waited for


def patient_chat(model: str, endpoint: str) -> OpenAIChat:
    """Return the model behind an endpoint.

    :param endpoint: base URL, up to and including ``/v1``.
    """
    return OpenAIChat(model, base_url=endpoint, timeout_s=_ANSWER_S, policy=_RETRIES)
