"""The future of a hook whose collectives follow each other. What comes after the first of them runs
at the end of backward, bucket by bucket: begun as soon as the first is back, the order would be
another on every rank."""

from ....futures import Future


class AtTheEnd(Future):
    """A value that who waits for it computes."""

    def __init__(self, function):
        super().__init__()
        self._function = function

    def wait(self):
        if not self.done():
            self.set_result(self._function())
        return super().wait()

    def then(self, callback):
        """The callback's value, computed likewise: without that nothing would ever set this one."""

        def after():
            self.wait()
            return callback(self)

        return AtTheEnd(after)
