"""What every page stands on: `page.Page` with its state, the frame around it, and the backend."""
