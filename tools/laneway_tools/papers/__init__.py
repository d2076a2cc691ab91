"""Published figures and models, reproduced."""
