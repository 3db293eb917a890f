"""The jobs behind the command: build, evaluate, generate, tune. Each has a plan."""
