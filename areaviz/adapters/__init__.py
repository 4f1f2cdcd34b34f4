"""Models of others, run once and recorded as a trace: `areaviz.attend` is the door."""
