"""What a project depends on: which packages, in which versions, and where they lie on this machine.

Everything is read from files. No package manager is started, and no code of a package is imported or run.
"""
