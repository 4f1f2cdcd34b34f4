"""Greedy and beam search over the protocol `stepper.Stepper`, independent of any model."""
