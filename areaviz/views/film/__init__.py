"""The film of a sentence: a picture for each word, bright where the model attends."""
