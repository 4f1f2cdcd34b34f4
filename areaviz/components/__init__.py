"""What runs in the browser: a folder a component, with its script, markup and styles.

`parts.py` puts the files of a component together; the app mounts them (`areaviz/ui/components`),
and so does a page that needs no app (`areaviz/publish/page.py`, with the script in `page`).
"""
