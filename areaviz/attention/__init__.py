"""Attention functions and layers that map queries, keys and values to contexts and weights.

The functions keep no state between calls. The entry points are `area.area_attention` and the layer
`multihead.MultiHeadAttention`.
"""
