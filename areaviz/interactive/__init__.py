"""The components that respond to hovering in the browser, such as the token ribbon and image grid.

A component draws a trace in the browser by a script in `areaviz/components`. This package computes
the data that the script gets, called a payload: a header of plain values, and arrays. `ribbon` and
`grid` are the public modules. They also write their data as files (`TAKEAWAY`).
"""
