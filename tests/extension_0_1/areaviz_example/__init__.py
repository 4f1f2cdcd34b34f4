"""A model, a view and a measure that join areaviz by entry points; see pyproject.toml."""
