"""The page Home: the hero, six ways in and three doors; `openings` stores the traces it shows."""
