"""The browser components: markup, styles and scripts, for the app and for pages that
need no app.
"""
