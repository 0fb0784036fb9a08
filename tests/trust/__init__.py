"""What the product promises, tried on the installed command with the defaults that users get.

One module per promise. Every test here failed at version 0.1.0; its docstring names the finding.
"""
