"""The base of every page: `page.Page` with its state, the frame around it, and the backend."""
