#!/usr/bin/env bash
# docs.sh: the reference as a site, into build/docs/site: pages from the headers and the guides,
# then mkdocs, in an environment of its own, which fails where a link leads nowhere; last, a check
# that the site needs nothing from the network.
set -euo pipefail
cd "$(dirname "$0")/../.."
lock=bindings/reference/requirements.lock
out=build/docs
environment=$out/environment
stamp=$environment/.installed-$(sha256sum "$lock" | cut -c1-16)
mkdir -p "$out"
if [ ! -e "$stamp" ]; then
  [ -x "$environment/bin/python" ] || .venv/bin/python -m venv "$environment"
  "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$lock"
  rm -f "$environment"/.installed-*
  touch "$stamp"
fi
.venv/bin/python bindings/generate --if-changed
rm -rf "$out/pages" "$out/site"
.venv/bin/python bindings/reference/pages.py "$out"
NO_MKDOCS_2_WARNING=1 "$environment/bin/mkdocs" build --quiet --config-file "$out/mkdocs.yml"
.venv/bin/python bindings/reference/check_site.py "$out/site"
