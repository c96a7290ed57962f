#!/usr/bin/env bash
# What the tests need beyond the library's own tools: GoogleTest, and Debian's cargo, the oldest
# that the Rust crates promise to build with. Installed by apt where that may be done; otherwise
# the suites that need it say so.
set -euo pipefail
packages=()
[ -e /usr/include/gtest/gtest.h ] || packages+=(libgtest-dev)
[ -x /usr/bin/rustc ] || packages+=(cargo)
[ "${#packages[@]}" = 0 ] && exit 0
command -v apt-get >/dev/null || exit 0
run=()
[ "$(id -u)" = 0 ] || run=(sudo -n)
"${run[@]}" true 2>/dev/null || exit 0
echo "installing ${packages[*]}"
"${run[@]}" apt-get update -qq &&
  "${run[@]}" apt-get install -y -qq "${packages[@]}" >/dev/null || true
