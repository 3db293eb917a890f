"""Inputs that reach beyond a tool: names that ask for what is not its business, defaults that reroute calls or guide a model."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest.trust.folded_text import fold
from ingest.trust.instructions import signals_in
from ingest.trust.named_hosts import addresses_in
from ingest.trust.signals import SIGNALS
from ingest.trust.wording import any_of, whole_words
from ontology.tool import Parameter

__all__ = ["asked_by_name", "reach_of_default"]


def asked_by_name(name: str) -> str:
    """What of the host or of the conversation the name of an input asks for, in words; empty where nothing."""
    if len(name) < _LONG_NAME:
        return ""
    plain = re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).lower()
    match = _ASKING_NAME.search(plain)
    return match[0].strip("_").replace("_", " ") if match is not None else ""


_LONG_NAME = 14
_ASKING_NAME = re.compile(
    r"(?:^|_)(?:contents?|text|value|values|dump|copy|full|all|entire|complete|whole|verbatim|last|previous|prior|raw|current|your|user_s|paste|read|output)_(?:\w{1,30}_)??"
    r"(?:netrc|ssh|id_rsa|bash_history|dotenv|dot_env|environ|environment|env_vars?|env_file|home_dir\w*|clipboard|keychain|browser_\w+|passwd|kubeconfig|aws_credentials|private_keys?|credentials|secrets|passwords|cookies|"
    r"system_prompt|conversation|chat_history|chat_log|transcript|user_messages|prompt_history|instructions_above|tool_results|tool_outputs|local_files)(?:_|$)"
)
_ROUTE = re.compile(r"(?:^|_)(?:proxy|proxies|relay|tunnel|gateway|socks|resolver|dns_server|smtp_host)", re.IGNORECASE)
_GUIDING = any_of("guiding_inputs", re.IGNORECASE)
_GUIDING_CHARS = 40
_UNGUARDED = whole_words("unguarded")


def reach_of_default(parameter: Parameter, value: str) -> Iterator[tuple[str, str]]:
    """Yield rule and reason for a default that routes calls through a host or guides a model."""
    if _ROUTE.search(parameter.name) and (at := next(addresses_in(value), None)) is not None:
        label = at.host.rpartition(".")[2]
        local = label in {"localhost", "local", "internal"} or at.host.startswith(("127.", "10.", "192.168."))
        if not local and "{" not in value:
            yield ("route", "unless the caller says otherwise, calls go through a host")
    about = f"{parameter.name} {parameter.description[:200]}"
    if len(value) >= _GUIDING_CHARS and _GUIDING.search(about) and value.count(" ") > _GUIDING_WORDS:
        folded = fold(value[:_READ_CHARS]).text
        loose = set(_UNGUARDED.findall(folded))
        named = {SIGNALS[at].name for part in signals_in(folded) for at in part.signals}
        if len(loose) + len(named) > 1 and named | (loose - {"all", "always", "full", "every", "each", "whatever"}):
            yield ("guiding", "a default guides a model past what the caller wants")


_GUIDING_WORDS = 6
_READ_CHARS = 20_000
