"""The moments of a recording that each output item attends to."""
