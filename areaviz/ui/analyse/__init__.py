"""The page Analyse. Its entry point is `page.draw_analyse_page`."""
