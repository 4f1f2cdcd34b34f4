"""The questions of the lessons, one file each: their numbers, computed when they are asked."""
