"""Corpora, samples and generators, a file each; the tokenizer, batches, and where it all lies."""
