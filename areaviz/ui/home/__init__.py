"""The front page; its doors are in `sections`, and in `openings`, which stores what it shows."""
