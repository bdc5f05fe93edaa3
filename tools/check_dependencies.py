"""Fails if a direct dependency has no reason in docs/dependencies.md, or if the document names one that no longer exists.

    python3 tools/check_dependencies.py

Prints how many dependencies there are. Needs Python 3.11 and nothing else.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "dependencies.md"
MANIFESTS = [*sorted(ROOT.glob("crates/*/Cargo.toml")), ROOT / "bindings/python/Cargo.toml", ROOT / "fuzz/Cargo.toml"]
KINDS = ["dependencies", "dev-dependencies", "build-dependencies"]
# The heading of the table of crates that are not used.
REFUSED = "## Considered and refused"
# Crates of this workspace need no reason.
OWN = {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")}


def direct_dependencies():
    """Every direct dependency, and the crates that have it."""
    users = {}
    for manifest in MANIFESTS:
        content = tomllib.loads(manifest.read_text())
        name = content["package"]["name"]
        for kind in KINDS:
            for dependency in content.get(kind, {}):
                users.setdefault(dependency, set()).add(name)
    return users


def documented():
    """The crates in the first column of the tables, without those that were refused."""
    names = set()
    for line in DOCUMENT.read_text().partition(REFUSED)[0].splitlines():
        cells = line.split("|")
        if len(cells) > 3 and not set(cells[1].strip()) <= {"-"}:
            names.update(re.split(r",\s*", cells[1].strip()))
    return names - {"crate"}


def main():
    users, known = direct_dependencies(), documented()
    faults = [
        f"{name}, used by {', '.join(sorted(users[name]))}, has no line in {DOCUMENT.relative_to(ROOT)}"
        for name in sorted(users.keys() - known - OWN)
    ]
    faults += [f"{name} is in {DOCUMENT.relative_to(ROOT)}, but no crate uses it" for name in sorted(known - users.keys())]
    locked = (ROOT / "Cargo.lock").read_text().count("[[package]]")
    print(f"{len(users.keys() - OWN)} direct dependencies, {locked} packages in Cargo.lock (all features and systems)")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
