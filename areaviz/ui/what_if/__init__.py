"""What if: `panel` chooses interventions, and `experiment` decodes again with them."""
