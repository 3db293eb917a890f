"""Reader of OData v2 and v4 services: EDMX and CSDL documents."""

from ingest.sources.odata.source import ODataSource

__all__ = ["ODataSource"]
