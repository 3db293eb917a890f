"""What the graphs of data generation are made from."""
