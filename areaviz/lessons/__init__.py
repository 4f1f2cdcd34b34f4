"""The questions of How areas work: their texts, their numbers, and the arithmetic behind them."""
