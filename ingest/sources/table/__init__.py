"""Reader of tables of tools: CSV, TSV, JSONL and JSON lists."""
