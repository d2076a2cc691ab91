"""The one exception that the command line turns into a message without a traceback."""


class UserError(Exception):
    """Something that the user can put right; the text says what and how."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code
