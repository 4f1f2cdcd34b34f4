"""The backends that run models: in this process, from stored traces, or on a server.

`base` defines their interface.
"""
