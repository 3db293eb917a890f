"""Systems to measure: retrievers in this process, and running servers; both implement
:class:`eval.system.System`.
"""

from eval.systems.system_registry import DEFAULT_SYSTEMS, GROUPS, LocalSystem, RemoteSystem, make_systems

__all__ = [
    "DEFAULT_SYSTEMS",
    "GROUPS",
    "LocalSystem",
    "RemoteSystem",
    "make_systems",
]
