"""Date expressions of requests, read as half-open ranges of days: by rules over dateparser, or by a chat model that the rules check."""

from planners.query.dates.date_range import DateRange
from planners.query.dates.date_reader import DateReader, LlmDates, RulesDates
from planners.query.dates.read_range import read_range

__all__ = ["DateRange", "DateReader", "LlmDates", "RulesDates", "read_range"]
