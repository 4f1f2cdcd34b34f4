"""The token ribbon and the image grid, which respond to hovering in the browser.

`ribbon` and `grid` are the public modules. Each builds the data of one site and layer for the
browser (`ribbon_payload`, `grid_payload`) and writes it as files (`TAKEAWAY`). The scripts that
display it are in `areaviz/components`.
"""
