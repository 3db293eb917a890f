"""Convert JSON Schema to flat parameters: references, combinations, nested fields."""
