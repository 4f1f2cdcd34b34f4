"""Compiled area attention: C code on a CPU, and FlexAttention over pooled keys on a GPU.

`areaviz.attention.area` chooses between them.
"""
