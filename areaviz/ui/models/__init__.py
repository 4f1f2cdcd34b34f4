"""The page Models; its doors are `comparison.beside` and `model_card.model_card`."""
