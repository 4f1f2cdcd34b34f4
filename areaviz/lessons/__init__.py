"""The questions on the page How areas work: their texts, numbers and arithmetic."""
