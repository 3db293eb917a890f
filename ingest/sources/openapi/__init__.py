"""The document format of OpenAPI 3.0 and 3.1 and of Swagger 2.0."""

from ingest.sources.openapi.source import OpenApiSource

__all__ = ["OpenApiSource"]
