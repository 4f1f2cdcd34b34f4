"""Measurements, side by side with regular attention and with peers; see README.md in
this folder.
"""
