"""Model cards: what a model is, its figures, its targets, and the figures that papers report.

Start with `card.Card` and the registry `tasks.TASKS`.
"""
