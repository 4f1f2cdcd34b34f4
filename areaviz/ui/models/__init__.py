"""The page Models: `index` lists the models, and `card_page` draws the page of one model."""
