"""The page Analyse. Its entry point is `page.analyse_page`."""
