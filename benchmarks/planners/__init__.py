"""How right the planners are: graphs and answers of personal requests, and questions on graphs."""
