"""What if: `panel.panel` chooses interventions, `experiment.experiment` decodes again with them."""
