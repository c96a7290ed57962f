"""What Linux says a process does: `R` runs, `S` sleeps, `D` waits in the kernel and hears no
signal, `Z` only has to be waited for."""

__all__ = ["is_uninterruptible_state", "read_proc_state"]


def read_proc_state(pid):
    """The letter; None where there is no such process, or where it cannot be asked for."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            words = file.read().rpartition(")")[2].split()  # a program's name may have anything
    except OSError:
        return None
    return words[0] if words else None


def is_uninterruptible_state(state):
    """Whether the process hears no signal."""
    return state is not None and state.startswith("D")
