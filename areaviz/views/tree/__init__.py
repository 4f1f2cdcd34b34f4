"""The tree that a parser writes, and the words that its brackets attend to."""
