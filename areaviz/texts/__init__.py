"""The catalogue of the texts that readers see, one PO file per language, for Python and scripts."""
