"""Metrics that no well-maintained library provides, one per file."""
