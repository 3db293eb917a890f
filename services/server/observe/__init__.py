"""What an operator sees of a server: metrics, traces, the sampled query log, and the audit log."""
