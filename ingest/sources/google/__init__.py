"""Reader of discovery documents of Google."""
