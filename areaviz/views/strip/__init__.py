"""The film strip of a clip: the frames that each word attends to."""
