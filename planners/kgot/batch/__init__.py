"""Many tasks: handed out one by one, each with its own graph and journal; a report of their answers, costs and tools."""
