"""What agents do with retrieved tools: planners, and the rooms that all planners share.

``calling`` invokes tools, ``finding`` retrieves them over gRPC, ``runs`` records what a run did, ``steps`` executes the service's plans
of calls. A planner (``dfs``) imports these, never another planner.
"""
