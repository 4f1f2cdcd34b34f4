"""Measures that no well-kept library has, one a file."""
