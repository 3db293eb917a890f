"""What is told when a snapshot without a signature takes the place of a signed one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ontology.errors import EgotoolsError
from services.cli.console import stderr

__all__ = ["told_of_lost_signature"]


@contextmanager
def told_of_lost_signature(store: Path) -> Iterator[None]:
    """Warn on the error channel when the block publishes a snapshot that nobody has signed, and the one before was signed."""
    was_signed = _is_signed(store)
    yield
    if was_signed and not _is_signed(store):
        stderr.print(
            "[bold yellow]Warning[/]: the snapshot that was published before is signed, this one is not. Servers that trust keys "
            "(EGOTOOLS_TRUSTED_KEYS) refuse it, and do not start with it. Publish it again with --signing-key or "
            "EGOTOOLS_SIGNING_KEY, or take it back with: egotools rollback",
            soft_wrap=True,
        )


def _is_signed(store: Path) -> bool:
    from retrieval.snapshot.publish import current_snapshot
    from retrieval.snapshot.signing import is_signature

    try:
        return any(is_signature(path.name) for path in current_snapshot(store).iterdir())
    except (EgotoolsError, OSError):  # there is none; what is damaged, others say
        return False
