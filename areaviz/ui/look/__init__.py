"""Looking at results: `result_page.result_page` runs what is asked, `explore.explore` shows it."""
