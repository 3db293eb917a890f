"""Hand-made requests that test the validators."""
