"""Looks: the parts of a picture that a digit reader reads, step by step."""
