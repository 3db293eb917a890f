"""Reader of OpenAPI 3.x and Swagger 2.0 documents."""

from ingest.sources.openapi.source import OpenApiSource

__all__ = ["OpenApiSource"]
