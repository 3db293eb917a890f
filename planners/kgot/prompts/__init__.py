"""The prompts of a run, one file each, and their rendering as XML or Markdown."""
