"""Pictures of attention on screen and in print, with one folder per picture.

A folder has the picture's data, table and print in Python, and its script and styles beside
them. `views.py` lists all views and components, and `message.py` makes the data for a script.
"""
