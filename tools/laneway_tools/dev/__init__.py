"""Building, testing, checking and showing the project itself."""
