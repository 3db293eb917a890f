"""What a call may take before it is answered: bytes in memory, a place among the calls, and turns on the workers."""
