"""The two ways a request can fail; the message of either is one sentence a person can act on."""


class InputError(ValueError):
    """The input cannot be used: says what, the limit, and what to do."""


class BackendError(RuntimeError):
    """The input is fine but the work failed (a damaged checkpoint, no memory): says what to do."""


class Busy(BackendError):
    """The work was not begun, as too much of it waits already; ask for the same in a moment."""
