"""JSON Schema as flat parameters: references, combinations, nested fields."""
