"""Results on pages: `result_page` runs the requests, and `explore` shows the traces."""
