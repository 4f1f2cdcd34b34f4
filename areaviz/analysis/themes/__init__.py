"""Themes of failure: the kinds of examples in which a system is worse, in words and with a proof.

A theme is a condition, which is known without the output, and a symptom, a number that is lower
there. It is searched for in one half of the examples and tested in the other half.
"""
