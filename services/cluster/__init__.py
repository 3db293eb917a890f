"""A cluster of Ray: the same server on every node, and builds whose work is done by tasks on all of them. Needs the extra ``ray``."""
