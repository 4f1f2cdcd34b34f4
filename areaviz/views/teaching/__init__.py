"""Pictures and numbers of the teaching page: pure functions, one file a lesson."""
