"""Call schemas: a tool as the function or tool definition that agent runtimes and models accept."""

from services.schemas.call_schema import SCHEMA_FORMATS, call_name, tool_schema, tool_schema_json
from services.schemas.input_schema import input_schema

__all__ = ["SCHEMA_FORMATS", "call_name", "input_schema", "tool_schema", "tool_schema_json"]
