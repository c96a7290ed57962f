"""`python -m flambeau`: the commands that the package has."""

import sys

HELP = """usage: python -m flambeau COMMAND

  doctor                what was found, loaded and rejected on this machine, and how to mend it
  help                  this

  python -m flambeau.as_torch PROGRAM ...      runs a PyTorch program on flambeau
  python -m flambeau.utils.collect_env         the same facts as text, for a bug report"""


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
    print(f"flambeau: there is no command {command!r}\n\n{HELP}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
