"""Backends that run models in this process or on a server, or answer from stored traces.

`backend.Backend` is their interface.
"""
