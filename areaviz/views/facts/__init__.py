"""The facts of a story that a memory network attends to, hop by hop."""
