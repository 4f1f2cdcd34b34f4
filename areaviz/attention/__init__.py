"""Attention as mathematics: (context, weights) from queries, keys and values; nothing is kept.

The doors are `area.area_attention` and the module `multihead.MultiHeadAttention`.
"""
