"""Measurements, beside regular attention and peers; see README.md in this folder."""
