"""`python -m askbook`."""

from askbook.cli.main import main

main()
