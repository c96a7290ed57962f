"""`python -m flambeau`: the commands that the package has."""

import sys

HELP = """usage: python -m flambeau COMMAND

  doctor                what was found, loaded and rejected on this machine, and how to mend it
  monitor [SECONDS]     GPUs, the processes on them and their memory, again and again
  help                  this

  python -m flambeau.as_torch PROGRAM ...      runs a PyTorch program on flambeau
  python -m flambeau.utils.collect_env         the same facts as text, for a bug report"""


def monitor(seconds="2"):
    """The table, every so many seconds until Ctrl-C where somebody watches, else once."""
    import time

    from ._gen import api

    live = sys.stdout.isatty()
    try:
        while True:
            print("\x1b[H\x1b[2J" * live + api.monitor_table(), end="", flush=True)
            if not live:
                return 0
            time.sleep(float(seconds))
    except KeyboardInterrupt:
        return 0


def main(arguments):
    """The exit status of a command line."""
    command = arguments[0] if arguments else "help"
    if command in ("help", "-h", "--help"):
        print(HELP)
        return 0
    if command == "doctor":
        from .utils.collect_env import doctor

        doctor()
        return 0
    if command == "monitor":
        return monitor(*arguments[1:2])
    print(f"flambeau: there is no command {command!r}\n\n{HELP}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
