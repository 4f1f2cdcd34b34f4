"""The CSS of Home: its title, its tiles, and its link that looks like a button."""

HOME_STYLE = """
[data-testid="stMainBlockContainer"] { padding-bottom: 1rem; }
[data-testid="stMainBlockContainer"] h1 { font-size: 40px; line-height: 47px; padding-bottom: 0; }
.st-key-hero { justify-content: space-between; }
.st-key-hero > :first-child { flex: 1 1 24rem; }
.st-key-hero p { font-size: 17px; line-height: 26px; }
.st-key-hero [data-testid="stPageLink-NavLink"] {
  background: #0F6466; border-radius: 6px; padding: 0.5rem 1rem; min-height: 44px; }
.st-key-hero [data-testid="stPageLink-NavLink"]:hover { background: #0B5254; }
.st-key-hero .stElementContainer:last-child [data-testid="stPageLink-NavLink"] {
  background: none; box-shadow: inset 0 0 0 1px color-mix(in srgb, currentColor 22%, transparent); }
.st-key-hero .stElementContainer:last-child [data-testid="stPageLink-NavLink"] p {
  color: inherit; }
.st-key-hero [data-testid="stPageLink-NavLink"] p {
  color: #FFFFFF; font-size: 16px; font-weight: 600; text-decoration: none; }
[class*="st-key-way_"] { padding: 0 0 8px; gap: 0; overflow: hidden; }
[class*="st-key-way_"] > :not([class*="st-key-tile_"], :has([class*="st-key-tile_"])) {
  padding: 0 12px; }
[class*="st-key-way_"] p { font-size: 15px; line-height: 20px; }
[class*="st-key-tile_"] { height: 104px; flex: none; justify-content: center; overflow: hidden;
  margin-bottom: 6px; background: color-mix(in srgb, currentColor 7%, transparent); }
[class*="st-key-tile_"] img { height: 104px; object-fit: contain; border-radius: 0; }
[class*="st-key-tile_"] p { font-family: "Source Serif", serif; font-size: 17px; line-height: 26px;
  padding: 0 12px; }
.st-key-doors [data-testid="stPageLink-NavLink"] p { font-size: 15px; }
@media (max-width: 62rem) { .st-key-hero > :first-child { min-width: 100%; }
  .st-key-hero { justify-content: start; } }
@media (max-width: 62rem) { .st-key-ways_in [data-testid="stColumn"] {
  min-width: calc(33% - 1rem); } }
@media (max-width: 40rem) { [data-testid="stMainBlockContainer"] h1 {
  font-size: 34px; line-height: 38px; } }
@media (max-width: 40rem) { .st-key-ways_in [data-testid="stColumn"] {
  min-width: calc(50% - 1rem); } }
"""
