"""What every HTTP face shares: the bounded server, the guard of host names, the statuses of errors."""
