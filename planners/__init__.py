"""What agents do with retrieved tools: three planners, and the rooms that they share.

``calls`` finds, invokes and chains tools, ``journal`` records what a run did, ``stores`` holds property graphs, ``query`` turns words into
a typed query graph. A planner (``dfs``, ``kgot``, ``graphseek``) imports these, never another planner.
"""
