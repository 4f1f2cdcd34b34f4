"""The page Analyse. Its entry point is `page.draw_analyse_page`.

`state.py` has what the page shows. `form.py`, `runs.py` and `result.py` draw the dataset, the
run and the results.
"""
