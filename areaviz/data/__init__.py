"""Corpora, sample inputs and generators of examples, the tokenizer, and the locations of files."""
