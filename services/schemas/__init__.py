"""Call schemas: a tool as the function or tool definition that agent runtimes and models accept."""
