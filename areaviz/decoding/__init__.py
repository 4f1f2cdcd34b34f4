"""Greedy and beam search over one protocol, `stepper.Stepper`; they know no model."""
