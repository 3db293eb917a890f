"""What an encoder around another one is to its callers: it has the name, the width and the digest of the inner one."""

from __future__ import annotations

from inference.encoder import Encoder

__all__ = ["WrappedEncoder"]


class WrappedEncoder:
    """The base of encoders that add something to the calls of another; they define ``encode``."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self._encoder.name

    @property
    def dimensions(self) -> int:
        """The encoder's dimensions."""
        return self._encoder.dimensions

    @property
    def digest(self) -> str:
        """The encoder's digest."""
        return self._encoder.digest
