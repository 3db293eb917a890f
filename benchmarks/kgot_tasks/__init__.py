"""The files of the shipped tasks of the Knowledge Graph of Thoughts planner, made from rows of a seed."""
