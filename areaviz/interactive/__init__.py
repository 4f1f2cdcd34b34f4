"""The token ribbon and the image grid, which answer hovering in the browser.

Doors: `ribbon` and `grid`, each with what the browser gets of one site and layer (`ribbon_payload`,
`grid_payload`) and with the same as files (`TAKEAWAY`). The scripts that show it are in
`areaviz/components`.
"""
