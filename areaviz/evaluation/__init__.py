"""How the figures on cards are measured on held-out data, and how faithful a map is."""
