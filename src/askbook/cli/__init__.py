"""The command line: one module per command group; heavy imports wait until a command runs."""
