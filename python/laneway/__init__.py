"""Laneway's front end: the command ``laneway`` and the pieces that it is made of."""

__version__ = "0.1.0"
