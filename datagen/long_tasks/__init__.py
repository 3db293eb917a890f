"""Long tasks: requests of five to twelve tools, put together from requests that stand each for itself."""

from datagen.long_tasks.long_task import LONG_TASK, make_long_tasks

__all__ = ["LONG_TASK", "make_long_tasks"]
