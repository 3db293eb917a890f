"""What the accounts of ``scripts/kgot`` and ``scripts/graphseek`` share: kept rows, counted model calls, ratios, figures and their tables."""
