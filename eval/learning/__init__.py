"""Learning from use: past sessions become the learned part of a snapshot, if held-out sessions are answered better with it.

Sessions are read (``sessions``), the influence of age and of each reporter is bounded (``influence``), the learned part is made
(``make_learned``), and sessions that it does not see decide (``held_out``).
"""

from eval.learning.held_out import Learning, learn
from eval.learning.influence import Influence
from eval.learning.learning_report import learning_to_json
from eval.learning.sessions import OutputUse, Session, known_sessions, read_usage_log

__all__ = [
    "Influence",
    "Learning",
    "OutputUse",
    "Session",
    "known_sessions",
    "learn",
    "learning_to_json",
    "read_usage_log",
]
