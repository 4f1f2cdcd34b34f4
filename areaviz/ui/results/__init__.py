"""Results on pages: `result_page.result_page` runs the requests, `explore.explore` shows traces."""
