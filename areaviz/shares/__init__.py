"""Fairness between readers: the table of limits, and the counters that hold readers to them."""
