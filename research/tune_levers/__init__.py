"""What tuning could learn from generated requests beside the weights of the ranking, judged on hand-made requests."""
