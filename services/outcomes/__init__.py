"""What became of requests: their ids, and the durable log of what agents report, one folder for each catalogue."""

from services.outcomes.outcome_log import Outcome, OutcomeLog, read_outcomes
from services.outcomes.request_ids import RequestIds, open_secret

__all__ = ["Outcome", "OutcomeLog", "RequestIds", "open_secret", "read_outcomes"]
