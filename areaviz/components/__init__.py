"""The components that run in the browser. Each has a folder with its script, markup and styles.

`parts.py` joins the files of a component. The app shows components through
`areaviz/ui/components`, and exported pages through `areaviz/publish/page.py` and the script in
`page`.
"""
