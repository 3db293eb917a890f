"""What an operator sees of a server: metrics and the audit log."""
