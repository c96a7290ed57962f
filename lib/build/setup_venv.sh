#!/usr/bin/env bash
# Makes .venv with the tools of requirements.lock, lets its python import flambeau from this
# checkout, and gives it the commands that the wheel has. Installs nothing when the lock is the one
# that was installed last.
set -euo pipefail
cd "$(dirname "$0")/../.."
lock=lib/build/requirements.lock
stamp=.venv/.installed-$(sha256sum "$lock" | cut -c1-16)

# A program for each line of [project.scripts], as pip makes them from the wheel.
commands() {
  sed -n '/^\[project.scripts\]$/,/^$/s/^\([a-z-]*\) = "\([a-z._]*\):\([a-z_]*\)"$/\1 \2 \3/p' \
    pyproject.toml | while read -r name module function; do
    command=.venv/bin/$name
    [ "$command" -nt pyproject.toml ] && [ "$command" -nt "$0" ] && continue
    # sh starts it, for the kernel takes no interpreter whose path is long or has a space.
    cat > "$command.$$" <<END
#!/bin/sh
'''exec' "$PWD/.venv/bin/python" "\$0" "\$@"
' '''
import sys

from $module import $function

sys.exit($function())
END
    chmod +x "$command.$$"
    mv "$command.$$" "$command"
  done
}

if [ -e "$stamp" ]; then
  commands
  exit 0
fi

# The system's own Python is built with profile feedback and runs a third faster than a plain build.
for python in ${PYTHON:-/usr/bin/python3 python3}; do
  if "$python" -c 'import sys, venv, ensurepip; assert sys.version_info > (3, 11)' 2>&-; then
    found=$python
    break
  fi
done
if [ -z "${found:-}" ]; then
  echo "flambeau's tools need Python 3.11 or newer, with venv; PYTHON= names another" >&2
  exit 1
fi
echo "setting up .venv ($("$found" --version), $(grep -c == "$lock") pinned packages)"
[ -x .venv/bin/python ] || "$found" -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r "$lock"
site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '%s\n' "$PWD/bindings/python" > "$site/flambeau.pth"
commands
rm -f .venv/.installed-*
touch "$stamp"
