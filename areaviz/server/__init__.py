"""The server of models: its answers as a function of bytes (`api`), and Ray Serve (`on_ray`)."""
