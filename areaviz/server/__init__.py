"""The model server: its answers as a function of bytes (`api`), and Ray Serve (`on_ray`)."""
