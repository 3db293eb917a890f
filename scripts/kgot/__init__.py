"""What the task graph of ``planners/kgot`` is measured with: tasks, an oracle model, faults, baselines, and the tables of ``docs/kgot.md``."""
