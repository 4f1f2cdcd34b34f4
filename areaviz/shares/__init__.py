"""Fair shares for readers: the table of limits, and the counters that enforce it."""
