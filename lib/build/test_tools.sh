#!/usr/bin/env bash
# What the tests need beyond the library's own tools: GoogleTest. Installed by apt where that may be
# done; otherwise the suites that need it say so.
set -euo pipefail
[ -e /usr/include/gtest/gtest.h ] && exit 0
command -v apt-get >/dev/null || exit 0
run=()
[ "$(id -u)" = 0 ] || run=(sudo -n)
"${run[@]}" true 2>/dev/null || exit 0
echo "installing libgtest-dev"
"${run[@]}" apt-get update -qq && "${run[@]}" apt-get install -y -qq libgtest-dev >/dev/null || true
