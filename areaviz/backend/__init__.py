"""What runs the models: one interface (`base`), in this process, stored or on a server."""
