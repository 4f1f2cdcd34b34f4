"""Training: a recipe in, a checkpoint out; one loop (`loop.Trainer`), and a file a task."""
