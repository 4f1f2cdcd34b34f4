"""The model server. `api` computes the replies to requests, and `on_ray` serves it on Ray Serve."""
