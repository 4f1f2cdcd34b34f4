"""`python -m areaviz`."""

from areaviz.cli import main

main()
