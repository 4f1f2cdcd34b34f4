"""Themes of failure: kinds of examples in which a system is worse, described and proved.

A theme has a condition, which is known without the output, and a symptom, which is a measure of
the output. Each theme is searched for in one half of the examples and tested in the other half.
Read `themes.py` first.
"""
