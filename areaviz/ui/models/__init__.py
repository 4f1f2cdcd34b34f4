"""The page Models; its entry points are `comparison.beside` and `model_card.model_card`."""
