"""The access policy: a YAML file that says which identity may do what, in which catalogues, and which tools exist for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ontology.errors import InvalidArgumentError
from ontology.json_values import first_error
from services.server.access.tokens import Identity
from services.server.access.watched_file import load_unique_keys, read_limited
from services.server.calls import Caller, Role

_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_SPACED_CLAIMS = frozenset({"scope", "scp"})  # lists that OAuth writes as words
_ALL = "*"
_TYPED = re.compile(r"(cn|dns|uri|email|ip):.")
_DECODINGS = 8  # percent signs encoded in each other; no honest name has more


class Match(BaseModel):
    """Which identities a rule is for; exactly one of the three.

    :param claims: of a JWT: name, or names joined by dots → value, or values of which one is enough; ``*``: any value.
    :param certificate: a name of a client certificate after its kind (``cn:``, ``dns:``, ``uri:``, ``email:``, ``ip:``); with ``*`` at
        its end all names of this kind that begin so.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    claims: dict[str, str | tuple[str, ...]] | None = Field(default=None, min_length=1)
    token: str | None = Field(default=None, min_length=1)  # the name of a static token
    certificate: str | None = Field(default=None, min_length=2)

    @field_validator("certificate")
    @classmethod
    def _of_one_kind(cls, pattern: str | None) -> str | None:
        if pattern is not None and not _TYPED.match(pattern):
            raise ValueError("write the kind of the name before it: cn:, dns:, uri:, email: or ip:")
        return pattern

    @model_validator(mode="after")
    def _one_of_them(self) -> Match:
        if sum(each is not None for each in (self.claims, self.token, self.certificate)) != 1:
            raise ValueError("give one of claims, token, certificate")
        return self

    def fits(self, identity: Identity) -> bool:
        """Whether an identity is one of those that are meant."""
        if self.token is not None:
            return identity.kind == "token" and identity.name == self.token
        if self.certificate is not None:
            return identity.kind == "certificate" and any(_is_meant(self.certificate, name) for name in identity.names)
        for name, wanted in (self.claims or {}).items():
            values = set(_claim_values(identity.claims, name))
            known = {wanted} if isinstance(wanted, str) else set(wanted)
            if not values or (_ALL not in known and values.isdisjoint(known)):
                return False
        return identity.kind == "jwt"


class Rule(BaseModel):
    """What the identities of one kind may do.

    :param tenants: the catalogues; ``*``: all. Without it: the catalogue that a call gets which names none.
    :param filters: the tools that exist for the caller, in the language of ``RetrieveRequest.filters``; without it: all.
    :param exclude: key → patterns, a value or its beginning and ``*``: a tool that has one of them does not exist for the caller.

    In ``tenants`` and ``filters`` the text ``{claim}`` stands for the values of that claim of the token. A rule does not match a token
    that does not have the claim.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default="", max_length=200)  # for the logs
    match: Match
    roles: tuple[Role, ...] = Field(min_length=1)  # ``read``, ``admin`` (change catalogues), ``metrics``
    tenants: tuple[str, ...] = Field(default=("",), min_length=1)
    filters: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    exclude: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Rule:
        if (self.filters or self.exclude) and "admin" in self.roles:
            raise ValueError("the role admin goes with the whole catalogue: leave filters and exclude out")
        if not all(key and values and all(values) for key, values in (*self.filters.items(), *self.exclude.items())):
            raise ValueError("a filter has a key and at least one value, none of them empty")
        if any(value.startswith("!") or "{" in value for values in self.exclude.values() for value in values):
            raise ValueError("a pattern of exclude is written without ! and without {claim}: what it fits is hidden")
        values = [value for values in (self.tenants, *self.filters.values()) for value in values]
        claimed = [value for value in values if "{" in value or "}" in value]
        if not all(map(_PLACEHOLDER.fullmatch, claimed)):
            raise ValueError("{claim} stands alone in a value, without text before or after it")
        if claimed and self.match.claims is None:
            raise ValueError("{claim} needs a match of claims: tokens and certificates have none")
        return self

    def caller(self, identity: Identity) -> Caller | None:
        """The caller that an identity is under this rule; None where the rule is not for it."""
        try:
            if not self.match.fits(identity):
                return None
            tenants = _filled(self.tenants, identity)
            filters = {key: _filled(values, identity) for key, values in self.filters.items()}
            for key, values in self.exclude.items():
                filters[key] = (*filters.get(key, ()), *(f"!{value}" for value in values))
        except KeyError:
            return None
        allowed = None if _ALL in self.tenants else frozenset(tenants)
        return Caller(name=identity.name, roles=frozenset(self.roles), tenants=allowed, filters=filters)


class Policy(BaseModel):
    """The rules, of which the first that matches decides. An identity without a rule may do nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    rules: tuple[Rule, ...] = Field(min_length=1)

    def caller(self, identity: Identity) -> Caller | None:
        """The caller that an identity is, or None."""
        return next((found for rule in self.rules if (found := rule.caller(identity)) is not None), None)


def read_policy(path: Path) -> Policy:
    """Read a policy file. Raises InvalidArgumentError naming the faults."""
    try:
        return Policy.model_validate(load_unique_keys(read_limited(path)))
    except ValidationError as error:
        problem = first_error(error)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        problem = str(error)
    problem = f"this is not an access policy: {problem}"
    raise InvalidArgumentError(problem, subject=str(path), remedy="See docs/access.md")


def _claim_values(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The values of a claim as texts; ``realm_access.roles`` is a claim in a claim."""
    found: Any = claims.get(name)
    if found is None and "." in name:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, str) and name in _SPACED_CLAIMS:
        found = found.split()
    values = [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, str | int | float)]
    return tuple(str(each).lower() if isinstance(each, bool) else str(each) for each in values if each != "")


def _is_meant(pattern: str, name: str) -> bool:
    begins = name.startswith(pattern[:-1]) if pattern.endswith(_ALL) else name == pattern
    return begins and not (name.startswith("uri:") and _has_dot_segments(name.removeprefix("uri:")))


def _has_dot_segments(uri: str) -> bool:
    """Whether a URI leaves the path that it begins with, for some reader that decodes it."""
    for _ in range(_DECODINGS):
        decoded = unquote(uri)
        if decoded == uri:
            return not {".", ".."}.isdisjoint(re.split(r"[/\\?#]", uri))
        uri = decoded
    return True


def _filled(values: Iterable[str], identity: Identity) -> tuple[str, ...]:
    """The values with the claims in their places; KeyError where there is no such claim. A value that a filter would
    read as a pattern counts as none: who issues tokens may name values, and not all of them at once."""
    found: list[str] = []
    for value in values:
        placeholder = _PLACEHOLDER.fullmatch(value)
        claimed = [value] if placeholder is None else _claim_values(identity.claims, placeholder[1])
        safe = [one for one in claimed if placeholder is None or not (one.startswith("!") or one.endswith(_ALL))]
        if not safe:
            raise KeyError(value)
        found += safe
    return tuple(found)
