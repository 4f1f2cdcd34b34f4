"""Tests of themes of failure."""
