"""The page Analyse; its entry point is `page.analyse_page`."""
