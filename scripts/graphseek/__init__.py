"""What ``planners/graphseek`` is measured with: graphs, questions with their truths, baselines, and the tables of its documentation."""
