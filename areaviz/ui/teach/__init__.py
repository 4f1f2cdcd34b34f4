"""The teacher's page: a plan of a lesson, its answers, and exercises that a link carries."""
