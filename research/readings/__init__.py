"""What blind readers said of generated requests: the texts, the gold sets and the answers of each reading.

A reading is a folder ``ROUND/CATALOGUE`` with ``sheet.jsonl`` (the texts; what the readers saw of the tools is in the documents of the catalogue),
``key.jsonl`` (the gold sets, which they did not see) and the answers of two readers. ``python -m research.readings`` scores them all.
"""
