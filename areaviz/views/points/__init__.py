"""The answer of a pointer network: its points, and the weights of every step."""
