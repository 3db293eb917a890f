"""Rule-based backends of the steps of a run: no model, no key, the same result every time."""
