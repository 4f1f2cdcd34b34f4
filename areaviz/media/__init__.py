"""Pictures, sounds and clips: safe decoding of uploads, and the form that models read.

Each medium has one file. `formats.py` names file formats and tells the three media apart.
"""
