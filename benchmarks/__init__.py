"""Benchmarks, compared with regular attention and other tools, see README.md in this folder."""
