"""What stands before the app when it is served: who is let in, and the bounds on what comes."""
