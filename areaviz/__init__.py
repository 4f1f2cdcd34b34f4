"""See which areas of a memory every attention head of a trained model attends to."""

__version__ = "0.1.0"
