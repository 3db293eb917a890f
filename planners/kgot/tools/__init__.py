"""The tools that every run of a task has at hand: Python, files, images, recordings, the web, and another model."""
