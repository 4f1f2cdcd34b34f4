"""What requests pass before the app gets them: who is admitted, and how much anyone may send."""
