"""LinkLimits: how far the search for suppliers goes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LinkLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLimits:
    """Trade-off between finding more edges and finding true ones; the defaults are those of a build.

    :param max_providers: at most so many tools supply one input.
    :param min_confidence: an edge of less is left out, in [0, 1].
    :param min_value_providers: a plain value that at most so many tools offer is linked, however small the catalogue is.
    :param max_value_share: and one of several words that at most this share of the tools offers.
    :param optional_values: whether inputs that are no identifiers and need not be given are linked too.
    :param nearest_login: whether of several logins only those whose names are nearest to that of the tool that asks open
        its door.
    :param resources_across_groups: whether a bare type (``image``) joins tools that their source files under different
        topics or lines of business.
    """

    max_providers: int = 8
    min_confidence: float = 0.25
    min_value_providers: int = 5
    max_value_share: float = 0.01
    optional_values: bool = False
    nearest_login: bool = False
    resources_across_groups: bool = True
