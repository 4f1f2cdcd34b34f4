"""The page Analyse; its door is `page.analyse_page`."""
