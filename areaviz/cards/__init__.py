"""What a model says of itself: its card, its task's figures, its gates, what the papers report.

The doors are `card.Card` and the registry `tasks.TASKS`.
"""
