"""The gateway in front of the app, which admits users and limits the messages of clients."""
