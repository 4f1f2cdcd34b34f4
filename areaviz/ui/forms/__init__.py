"""What pages ask: a form a page, and the widgets for models, options and pictures they share."""
