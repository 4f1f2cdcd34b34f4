"""Corpora, samples and generators, one per file, with the tokenizer, batches and file locations."""
