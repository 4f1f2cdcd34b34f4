"""Evaluation of models on held-out data for their cards, and measures of a map's faithfulness."""
