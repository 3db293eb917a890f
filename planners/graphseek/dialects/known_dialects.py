"""The dialects, by what a graph calls its own."""

from __future__ import annotations

from collections.abc import Mapping

from planners.graphseek.dialects.bolt_dialect import BoltDialect
from planners.graphseek.dialects.cypher_text import Dialect
from planners.graphseek.dialects.ladybug_dialect import LadybugDialect
from planners.stores.graph_schema import CypherDialect

__all__ = ["DIALECTS"]

DIALECTS: Mapping[CypherDialect, Dialect] = {"ladybug": LadybugDialect(), "bolt": BoltDialect()}
