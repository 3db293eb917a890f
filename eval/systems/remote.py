"""A running server of ``egotools.v1`` as a system."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from egotools import Client, ClientError
from eval.system import Ranked
from ontology.errors import InvalidArgumentError, NotReadyError, SnapshotError, error_from_status

__all__ = ["PREFIX", "RemoteSystem"]

PREFIX = "grpc:"
_OPENING_S = 10.0  # timeout of the first call, which describes the served snapshot


class RemoteSystem:
    """Measures an endpoint through the shipped client, without reasons.

    :param name: ``grpc:HOST:PORT``, for the server's default preset, or ``grpc:HOST:PORT/PRESET``.
    :param snapshot_id: the snapshot that it must serve, because gold ids, failures and graph belong to it.
    :raises SnapshotError: when it serves another snapshot.
    :raises InvalidArgumentError: when the name has no address, or the server does not have the preset.
    :raises EgotoolsError: when the server does not answer.
    """

    def __init__(self, name: str, *, snapshot_id: str) -> None:
        self.name = name
        self._snapshot_id = snapshot_id
        self._address, self._preset = _target(name)
        self._client = Client(self._address)
        weakref.finalize(self, self._client.close)
        try:
            catalog = self._client.catalog(timeout_s=_OPENING_S)
        except ClientError as error:
            raise error_from_status(
                error.code,
                f"the server does not answer: {error.message}",
                subject=self._address,
                remedy=error.remedy or "Start it, or leave it out of --systems",
            ) from error
        if catalog.snapshot_id != snapshot_id:
            raise SnapshotError(
                f"the server serves snapshot {catalog.snapshot_id}, and {snapshot_id} is measured",
                subject=self._address,
                remedy="Publish the same snapshot to the server, or measure the one that it serves",
            )
        if self._preset and self._preset not in catalog.presets:
            raise InvalidArgumentError(
                f"the server has no preset {self._preset!r}",
                subject=self._address,
                remedy=f"It has: {', '.join(catalog.presets)}; `egotools serve --baselines` has all",
            )
        self._config = {
            "kind": "grpc",
            "address": self._address,
            "preset": self._preset or catalog.default_preset,
            "snapshot_id": catalog.snapshot_id,
            "format_version": catalog.format_version,
            "models": dict(catalog.models),
            "created_by": dict(catalog.created_by),
        }

    @property
    def config(self) -> Mapping[str, Any]:
        """The address, and what the server reports about its snapshot and models."""
        return self._config

    def ask(self, query: str, *, k: int, timeout_s: float, needs: Sequence[str] = ()) -> Ranked:
        """Return the best ``k`` tools; ``total`` is the round-trip time, ``server`` the server's own total, in ms.

        :raises NotReadyError: when the server cannot be reached, or now serves another snapshot.
        :raises EgotoolsError: the error class for the status of the failed call.
        """
        started = time.perf_counter()
        try:
            answer = self._client.retrieve(
                query, needs=needs, k=k, preset=self._preset, explain=False, timeout_s=timeout_s
            )
        except ClientError as error:
            raise error_from_status(
                error.code, error.message, subject=error.subject or self._address, remedy=error.remedy
            ) from error
        total = (time.perf_counter() - started) * 1e3
        if answer.snapshot_id != self._snapshot_id:
            raise NotReadyError(f"the server now serves snapshot {answer.snapshot_id}", subject=self._address)
        stages = {"server" if stage == "total" else stage: spent for stage, spent in answer.timings_ms.items()}
        return Ranked(
            tools=tuple(tool.id for tool in answer.tools),
            ms={**stages, "total": total},
            fallbacks=answer.fallbacks,
            abstained=answer.unanswerable,
        )


def _target(name: str) -> tuple[str, str]:
    """Split a name into address and preset; an address may contain slashes (``dns:///host:port``)."""
    address = name.removeprefix(PREFIX)
    head, slash, tail = address.rpartition("/")
    preset = ""
    if slash and head and not head.endswith("/"):
        address, preset = head, tail
    if not address:
        raise InvalidArgumentError(
            "the name has no address", subject=name, remedy="Write grpc:HOST:PORT or grpc:HOST:PORT/PRESET"
        )
    return address, preset
