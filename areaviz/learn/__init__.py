"""The questions of How areas work, the guided tour, and the teacher's page."""
