"""Knowledge Graph of Thoughts (arXiv 2504.02670): a task's state as a graph that tool calls enlarge until a query answers the task."""
