#!/usr/bin/env python3
"""Count lines of production Rust: no blank lines, no comments, no tests.

    python3 tools/count_lines.py [--by-folder DEPTH]

Counted are crates/*/src and bindings/python/src. Modules behind `#[cfg(test)]` are left out with all that they hold, also
where they are files of their own, and so is labelflow-testing.
"""

import argparse
import re
import subprocess
from collections import Counter
from pathlib import Path

TEST_ITEM = re.compile(r"^\s*#\[cfg\((?:any\()?test\b")


def production_lines(text):
    """Return the number of lines of code in `text`, tests left out."""
    count = 0
    lines = iter(text.splitlines())
    for line in lines:
        if TEST_ITEM.match(line):
            skip_item(lines)
            continue
        stripped = line.strip()
        if stripped and not stripped.startswith("//"):
            count += 1
    return count


def skip_item(lines):
    """Pass over the item that follows an attribute: to its semicolon, or to its closing brace in the same column."""
    for line in lines:
        stripped = line.strip()
        if not stripped or stripped.startswith(("#[", "//")):
            continue
        if stripped.endswith((";", "}", ",")):
            return
        indent = len(line) - len(line.lstrip())
        closing = " " * indent + "}"
        for inner in lines:
            if inner.startswith(closing):
                return
        return


def test_files(source):
    """Return the files that `source` declares as modules for tests alone."""
    folder = source.parent if source.stem in ("lib", "main", "mod") else source.with_suffix("")
    modules = re.findall(r"#\[cfg\(test\)\]\n(?:#\[.*\]\n)*\s*(?:pub(?:\(\w+\))? )?mod (\w+);", source.read_text())
    return [folder / f"{module}.rs" for module in modules]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--by-folder", type=int, default=2, metavar="DEPTH", help="folders to sum over (default 2: crates)")
    depth = parser.parse_args().by_folder
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "crates/*/src/*.rs", "bindings/python/src/*.rs"],
        check=True, capture_output=True, text=True,
    ).stdout.split()
    files = [name for name in files if Path(name).is_file() and not name.startswith("crates/labelflow-testing/")]
    tests = {test for name in files for test in test_files(Path(name))}
    sums = Counter()
    for name in files:
        if Path(name) not in tests:
            sums["/".join(name.split("/")[:depth])] += production_lines(Path(name).read_text())
    for folder, count in sorted(sums.items()):
        print(f"{count:7,}  {folder}")
    print(f"{sum(sums.values()):7,}  all")


if __name__ == "__main__":
    main()
