"""Input forms: one per page, and the shared widgets for models, options and pictures."""
