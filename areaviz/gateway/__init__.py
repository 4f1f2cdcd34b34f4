"""The gateway in front of the app. It admits users and limits the messages of clients."""
