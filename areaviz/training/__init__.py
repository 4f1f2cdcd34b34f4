"""Training: turns a recipe into a checkpoint.

All tasks share one loop (`loop.Trainer`), and each task is one file.
"""
