"""The gateway in front of the app: it decides who is admitted, and limits what clients may send."""
