"""Adapters, which run external models once and record a trace.

`areaviz.attend` is the entry point.
"""
