"""The catalogue of translated texts for Python and JavaScript, with one PO file per language."""
