"""Training of models: a recipe, which is a TOML file, becomes a checkpoint.

All tasks share one loop (`loop.Trainer`), and each task has its own module.
"""
