"""Evaluation: measures the figures of model cards on held-out data, and how faithful a map is."""
