"""Waiting for other ranks to come, so that Ctrl-C ends it: Python sees a signal on its main thread
only, and only while that is not inside the library. The library is called on another thread, which
goes on to its deadline where nobody waits for it any more."""

import threading

from .._gen import api


def met(call, *arguments):
    """What `call` gives or raises."""
    if threading.current_thread() is not threading.main_thread():
        return call(*arguments)
    device = api.device_current("cuda") if api.device_is_available("cuda") else None
    outcome = []

    def run():
        try:
            if device is not None:
                api.device_set_current(device)
            outcome.append((call(*arguments), None))
        except Exception as error:  # handed to who waits
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    [(found, error)] = outcome
    if error is not None:
        raise error
    return found
