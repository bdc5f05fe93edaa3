#!/bin/sh
# Installs Chromium and its driver where Debian's packages can be had and nothing is there yet. Elsewhere Selenium looks for a
# browser and fetches one; should that fail too, the tests say what to do.
set -eu

has() { command -v "$1" >/dev/null 2>&1; }

install() { DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends chromium chromium-driver; }

if has chromium && has chromedriver || ! has apt-get || [ "$(id -u)" != 0 ]; then
  exit 0
fi
log=$(mktemp)
if { install || { apt-get update --quiet && install; }; } >"$log" 2>&1; then
  echo "installed $(chromium --version)"
else
  tail -n 3 "$log"
  echo "Debian's chromium could not be installed"
fi
rm -f "$log"
