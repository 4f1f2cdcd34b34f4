"""The front page; its doors are the three parts in `sections`."""
