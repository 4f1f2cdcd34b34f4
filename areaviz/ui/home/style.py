"""The CSS of Home: the size of its title, its tiles, and its link that looks like a button."""

HOME_STYLE = """
[data-testid="stMainBlockContainer"] h1 { font-size: 40px; line-height: 47px; padding-bottom: 0; }
.st-key-hero [data-testid="stMarkdown"] { flex: 1 1 26rem; }
.st-key-hero p { font-size: 17px; line-height: 26px; }
.st-key-hero [data-testid="stPageLink-NavLink"] {
  background: #0F6466; border-radius: 6px; padding: 0.5rem 1rem; min-height: 44px; }
.st-key-hero [data-testid="stPageLink-NavLink"]:hover { background: #0B5254; }
.st-key-hero [data-testid="stPageLink-NavLink"] p {
  color: #FFFFFF; font-size: 16px; font-weight: 600; text-decoration: none; }
.st-key-ways_in [data-testid="stColumn"] > div > div { padding: 0; overflow: hidden; }
[class*="st-key-tile_"] { height: 104px; justify-content: center; overflow: hidden;
  background: color-mix(in srgb, currentColor 7%, transparent); }
[class*="st-key-tile_"] img { height: 104px; object-fit: contain; border-radius: 0; }
[class*="st-key-tile_"] p { font-family: "Source Serif", serif; font-size: 17px; padding: 0 12px; }
.st-key-ways_in [data-testid="stColumn"] > div > div > :not([class*="st-key-tile_"]) {
  padding: 0 12px; }
.st-key-ways_in [data-testid="stColumn"] > div > div > :last-child { padding-bottom: 10px; }
@media (max-width: 62rem) { .st-key-ways_in [data-testid="stColumn"] {
  min-width: calc(33% - 1rem); } }
@media (max-width: 40rem) { .st-key-ways_in [data-testid="stColumn"] {
  min-width: calc(50% - 1rem); } }
"""
