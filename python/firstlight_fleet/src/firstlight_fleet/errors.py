"""Errors that a user reads: one sentence that says where, what is wrong and what to do."""


class FleetError(Exception):
    """What stops a command. The text is complete; the program ends with exit code 2."""


def first_line(error: BaseException) -> str:
    """The first line of an error of another library, which may be followed by pages."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")
