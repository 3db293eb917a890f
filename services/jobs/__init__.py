"""The jobs behind the command: build, evaluate, generate, tune. Each has a plan; importing this package imports only
the plans.
"""

from services.jobs.plans import BuildPlan, ChatEndpoint, DatagenPlan, EvaluationPlan, TuningPlan

__all__ = ["BuildPlan", "ChatEndpoint", "DatagenPlan", "EvaluationPlan", "TuningPlan"]
