"""The questions of the lessons. Each has a module that computes its numbers."""
