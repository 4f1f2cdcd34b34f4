"""Themes of failure: kinds of examples in which a system is worse, described and proved.

A theme consists of a condition, which is known without the output, and of a symptom. A symptom is a
measure of the output that is worse where the condition holds. A theme is searched for in one half
of the examples and tested in the other half.
"""
