"""What is measured of a machine and of exchanges, and what is fitted to it."""
