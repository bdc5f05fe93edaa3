#!/usr/bin/env python3
"""List the public names of the library crates, module by module, or compare them with the committed list.

    python3 tools/public_api.py            write docs/reference/rust-api.txt
    python3 tools/public_api.py --check    exit with 1 if the list is not up to date, or the root of labelflow is too wide

Names are read from `pub use`, `pub mod` and public items of lib.rs and of public modules.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "docs" / "reference" / "rust-api.txt"
CRATES = ["labelflow", "labelflow-clouds", "labelflow-data", "labelflow-files", "labelflow-flow", "labelflow-weak"]
# What one can take in at a glance.
MOST_NAMES_AT_THE_ROOT = 30

ITEM = re.compile(r"^pub (?:unsafe )?(?:fn|struct|enum|trait|type|const|static) (\w+)", re.M)
USE = re.compile(r"^pub use ([^;]+);", re.M)
MODULE = re.compile(r"^pub mod (\w+)( \{|;)", re.M)


def used_names(tree):
    """Return the names that the tree of a `pub use` brings in."""
    tree = re.sub(r"\s+", " ", tree).strip()
    if tree.endswith("}"):
        inner = tree[tree.index("{") + 1 : -1]
        parts, depth, part = [], 0, ""
        for sign in inner + ",":
            depth += (sign == "{") - (sign == "}")
            if sign == "," and depth == 0:
                parts.append(part)
                part = ""
            else:
                part += sign
        return [name for part in parts if part.strip() for name in used_names(part.strip())]
    return [re.split(r" as |::", tree)[-1]]


def names_of(source):
    """Return the public names and the public modules of a file, tests left out."""
    text = source.read_text().split("#[cfg(test)]\nmod tests")[0]
    text = re.sub(r"#\[cfg\(doctest\)\][^;]*;", "", text)
    modules = [name for name, _ in MODULE.findall(text)]
    used = [name for tree in USE.findall(text) for name in used_names(tree)]
    for folder in re.findall(r"^pub use (\w+)::\*;", text, re.M):
        # A registry declares the modules of its folder and gives out all that they have.
        used += [name for path in (source.parent / folder).glob("*.rs") for name in ITEM.findall(path.read_text())]
    used = [name for name in used if name != "*"]
    return sorted(set(used + ITEM.findall(text))), sorted(modules)


def module_file(folder, name):
    """Return the file of a module, or nothing where it is written in its parent."""
    for path in (folder / name / "mod.rs", folder / f"{name}.rs"):
        if path.is_file():
            return path
    return None


def lines_of(title, source, folder):
    """Yield the lines of a module and of its public modules."""
    names, modules = names_of(source)
    yield f"{title}: {' '.join(sorted(names + modules))}"
    for module in modules:
        path = module_file(folder, module)
        if path is not None:
            yield from lines_of(f"{title}::{module}", path, folder / module)


def listing():
    """Return the whole list as text."""
    lines = []
    for crate in CRATES:
        folder = ROOT / "crates" / crate / "src"
        if folder.is_dir():
            lines += lines_of(crate.replace("-", "_"), folder / "lib.rs", folder)
    return "\n".join(lines) + "\n"


def main():
    text = listing()
    if "--check" not in sys.argv[1:]:
        LIST.write_text(text)
        return
    root = next(line for line in text.splitlines() if line.startswith("labelflow:")).split()[1:]
    if len(root) > MOST_NAMES_AT_THE_ROOT:
        sys.exit(f"the root of labelflow has {len(root)} names, {MOST_NAMES_AT_THE_ROOT} are allowed: {' '.join(root)}")
    if not LIST.is_file() or LIST.read_text() != text:
        sys.exit(f"{LIST.relative_to(ROOT)} is not up to date: run tools/public_api.py, and name renamed things in CHANGELOG.md")


if __name__ == "__main__":
    main()
