"""The page Home: a hero, six tiles and three cards. `stored_results` stores the traces it shows."""
