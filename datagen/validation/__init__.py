"""What is checked of a labelled request: one check a file, and the reading of the request and its path that the checks share."""
