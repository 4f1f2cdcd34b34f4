"""Themes of failure: kinds of examples in which a system is worse, described and proved.

A theme is a condition, which is known without the output, and a symptom, a number that is lower
under it. A theme is searched for in one half of the examples and tested in the other half.
"""
