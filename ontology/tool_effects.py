"""The effect of a call of a tool, as far as its document says; what is not known counts as a change.

HTTP and OData: by the method. A GET counts as a change where the tool's name or the last literal part of its path is named for one, or
where it takes another method as an argument: many servers change things by GET. MCP: by the annotations ``readOnlyHint`` and
``idempotentHint``, which are what the server says of itself. A Python function or an operation of AWS: by the same hints in its
metadata, else by the verb that its name begins with.

A word is evidence, no proof: a GET named ``ring_bell`` counts as reading. Whoever must be sure writes a policy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal, Protocol, TypeAlias

from egotools.call import Call
from ontology.names import words

__all__ = ["Effect", "effect_of"]

Effect: TypeAlias = Literal["read", "idempotent", "change"]
"""What a call does: nothing; the same, however often it is made; or something of its own each time."""

_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})  # RFC 9110, section 9.2.1
_IDEMPOTENT_METHODS = _READING_METHODS | {"PUT", "DELETE"}  # section 9.2.2
# A server may take one of these for the method itself.
_OTHER_METHOD = frozenset({"x-http-method-override", "x-http-method", "x-method-override", "_method"})
_READING_VERBS = frozenset(
    "analyze browse check compare count describe diff download export fetch find get head list lookup query read retrieve search show"
    " summarize view watch".split()
)
# The two lists are of verbs of public interfaces in English, chosen by hand, and corrected on the 10,414 GETs of Google's discovery
# documents, Kubernetes core v1, TMDB, Spotify and the shipped company. Of these 58 count as a change: Kubernetes' nine connect…, 17
# that are named for one (cancel, restore, uploadScript), and 32 (0.3 %) that only read (sendAs.get, tasks.subscribe, deployPolicies).
# Of 25,156 GETs of a public market of APIs, whose names are people's titles, 2.0 % count as a change.
#
# Verbs that are no nouns: one anywhere in a name is what the tool does (userDelete, getUserDelete, users_then_purge).
_VERBS = frozenset(
    "abort activate approve assign cancel create deactivate decline delete deploy deprovision destroy disable discard dismiss eject"
    " enable enqueue erase evict execute finalize impersonate initiate insert install invalidate invoke kill merge migrate mutate notify"
    " overwrite pause provision publish purge reactivate reassign reboot recreate redeploy regenerate reject remove rename reopen"
    " replace reprocess resend reset restart resubmit revert revoke rollback send shutdown submit suspend terminate trigger truncate"
    " unassign unblock undelete uninstall unlock unpublish unsubscribe upsert wipe write".split()
)
# Words that are nouns too: list_transfers, getOrder and orders read; as the first word, or as the last one where nothing says that
# the tool reads, they are what it does (transferFunds, order, bank_transfer).
_NOUN_VERBS = frozenset(
    "accept add allocate archive attach bind block book boot buy charge checkout claim clear clone close commit confirm connect copy"
    " debit deposit deny drop empty exec fire flush fork freeze grant import increment invite issue join launch leave lock login logout"
    " make mark move open order patch pay pin portforward post proxy purchase push put redeem refund register release renew reply"
    " reserve restore resume retry rotate run save set ship sign signup start stop subscribe swap switch sync take toggle trade"
    " transfer tweet unlink unset update upgrade upload vote withdraw".split()
)
_JOINING = frozenset({"and", "or", "then"})  # get_or_create, fetch_and_lock
_CHANGES_ANYWHERE = _JOINING | _VERBS | {"swap", "update"}  # of a function: compare_and_swap
_PARTS = re.compile("[/:]")


class Described(Protocol):
    """A tool as far as its effects depend on it: of a catalogue, or of an answer."""

    @property
    def name(self) -> str:
        """As its source writes it."""

    @property
    def call(self) -> Call | None:
        """How it is called; None where the source does not say."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What its source says of it."""


def effect_of(tool: Described) -> Effect:
    """Return what a call of the tool does."""
    if _only_reads(tool):
        return "read"
    return "idempotent" if _is_idempotent(tool) else "change"


def _only_reads(tool: Described) -> bool:
    call = _call(tool)
    hint = _hint(tool, "read_only", "readOnlyHint")
    if hint is False or _hint(tool, "destructive", "destructiveHint"):
        return False
    if call.protocol in ("http", "odata"):
        return _method_among(tool, _READING_METHODS) and not _is_named_for_a_change(tool.name, call.path)
    if hint is not None or call.protocol not in ("python", "aws"):
        return hint is True
    return _reads_by_name(call.operation.rpartition(":")[2])


def _is_idempotent(tool: Described) -> bool:
    if _call(tool).protocol in ("http", "odata"):
        return _method_among(tool, _IDEMPOTENT_METHODS)
    return _hint(tool, "idempotent", "idempotentHint") is True


def _is_named_for_a_change(name: str, path: str) -> bool:
    parts = [part for part in _PARTS.split(path.partition("?")[0]) if part and "{" not in part]
    named, own, place = words(name), words(name.rpartition(".")[2]), words(parts[-1]) if parts else []
    if _VERBS & {*named, *place}:
        return True
    if own[:1] and own[0] in _NOUN_VERBS:
        return True
    says_that_it_reads = _READING_VERBS & set(named)
    return not says_that_it_reads and not _NOUN_VERBS.isdisjoint([*own[-1:], *place[:1], *place[-1:]])


def _method_among(tool: Described, methods: Collection[str]) -> bool:
    places = {(each.wire_name or each.name).casefold() for each in _call(tool).arguments}
    return _call(tool).method in methods and not places & _OTHER_METHOD


def _call(tool: Described) -> Call:
    return tool.call or Call()


def _hint(tool: Described, *keys: str) -> bool | None:
    metadata = tool.metadata
    return next((metadata[key] for key in keys if isinstance(metadata.get(key), bool)), None)


def _reads_by_name(name: str) -> bool:
    parts = words(name.rpartition(".")[2])
    return bool(parts) and parts[0] in _READING_VERBS and not _CHANGES_ANYWHERE & set(parts)
