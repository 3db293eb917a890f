"""The document format of Google's discovery documents."""

from ingest.sources.google.source import GoogleDiscoverySource

__all__ = ["GoogleDiscoverySource"]
