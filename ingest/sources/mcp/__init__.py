"""Reader of tools of the Model Context Protocol: a saved list of tools, or a live server."""
