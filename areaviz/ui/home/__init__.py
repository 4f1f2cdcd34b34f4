"""The page Home: a hero, six tiles and three cards. `openings` stores the traces it shows."""
