"""The page Home: `sections` draws it, and `openings` stores the traces that it shows."""
