"""Builds the book: README.md and the pages of docs/, one HTML file each.

    python3 tools/build_docs.py target/docs

The menu is the table of contents in docs/README.md: a new page needs one line there. A page of docs/ without a line, and a
link to a file or a heading that does not exist, are errors. Needs the package markdown. The pages need no network.
"""

import html
import re
import shutil
import sys
from pathlib import Path

import markdown

ROOT = Path(__file__).resolve().parent.parent
STYLE = Path(__file__).with_name("docs.css")

CONTENTS = ROOT / "docs" / "README.md"


def contents():
    """The sections of the table of contents, each with its pages in order: their titles and files."""
    sections = {}
    for line in CONTENTS.read_text().splitlines():
        if line.startswith("## "):
            entries = sections.setdefault(line.removeprefix("## "), [])
        elif match := re.match(r"- \[([^\]]+)\]\(([^)]+)\)", line):
            entries.append((match.group(1), (CONTENTS.parent / match.group(2)).resolve()))
    return sections


def pages(sections):
    """All pages: the table of contents and what it names."""
    named = [page for entries in sections.values() for _, page in entries]
    for page in [*named, *sorted(ROOT.glob("docs/**/*.md"))]:
        if not page.exists():
            raise ValueError(f"{CONTENTS.relative_to(ROOT)}: there is no {page.relative_to(ROOT)}")
        if page not in named and page != CONTENTS:
            raise ValueError(f"{page.relative_to(ROOT)} has no line in {CONTENTS.relative_to(ROOT)}")
    return [CONTENTS, *named]


def place_of(source):
    """The page of a file; README.md is the first."""
    relative = source.relative_to(ROOT)
    return Path("index.html") if relative == Path("README.md") else relative.with_suffix(".html")


def slug(text, separator):
    """The anchor of a heading, in the form that code forges use, so that links work in both places."""
    return re.sub(r"\s", separator, re.sub(r"[^\w\s-]", "", text.strip().lower()))


def render(source):
    """The title, the body and the anchors of a page."""
    converter = markdown.Markdown(
        extensions=["tables", "fenced_code", "toc", "sane_lists"],
        extension_configs={"toc": {"slugify": slug}},
    )
    body = converter.convert(source.read_text())
    title = re.search(r"^# (.+)$", source.read_text(), re.MULTILINE)
    anchors = set(re.findall(r' id="([^"]+)"', body))
    return (title.group(1) if title else source.stem), body, anchors


def link(target, source, sources, anchors):
    """Where a link of a page leads to among the pages; raises when its target does not exist."""
    if re.match(r"[a-z]+:", target):
        return target
    path, _, anchor = target.partition("#")
    file = (source.parent / path).resolve() if path else source
    if not file.exists():
        raise ValueError(f"{source.relative_to(ROOT)}: there is no {target} to link to")
    if file not in sources:
        return None
    if anchor and anchor not in anchors[file]:
        raise ValueError(f"{source.relative_to(ROOT)}: a link to {target}, which has no such heading")
    here = place_of(source).parent
    up = "../" * len(here.parts)
    return f"{up}{place_of(file).as_posix()}" + (f"#{anchor}" if anchor else "")


def with_links(body, source, sources, anchors, pictures):
    """The body with links to pages; adds its pictures to those that are copied."""

    def replace(match):
        attribute, target = match.group(1), html.unescape(match.group(2))
        if attribute == "src" and not re.match(r"[a-z]+:", target):
            file = (source.parent / target).resolve()
            if not file.exists():
                raise ValueError(f"{source.relative_to(ROOT)}: there is no picture {target}")
            pictures.add(file)
            return match.group(0)
        found = link(target, source, sources, anchors)
        # Files of the repository that are not pages are not linked.
        return "" if found is None else f'{attribute}="{html.escape(found)}"'

    return re.sub(r'\b(href|src)="([^"]*)"', replace, body)


def menu(current, sections):
    """The table of contents beside each page."""
    up = "../" * len(place_of(current).parent.parts)
    parts = []
    for section, entries in sections.items():
        items = []
        for title, source in entries:
            mark = ' aria-current="page"' if source == current else ""
            items.append(f'<li><a href="{up}{place_of(source).as_posix()}"{mark}>{html.escape(title)}</a></li>')
        parts.append(f"<h2>{html.escape(section)}</h2><ul>{''.join(items)}</ul>")
    return "".join(parts)


def main(out):
    sections = contents()
    sources = pages(sections)
    rendered = {source: render(source) for source in sources}
    anchors = {source: found for source, (_, _, found) in rendered.items()}
    pictures = set()
    written = {}
    for source, (title, body, _) in rendered.items():
        body = with_links(body, source, sources, anchors, pictures)
        up = "../" * len(place_of(source).parent.parts)
        written[place_of(source)] = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)} · labelflow</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<link rel="stylesheet" href="{up}docs.css"><a class="skip" href="#content">To the content</a>'
            f'<nav aria-label="Pages">{menu(source, sections)}</nav><main id="content">{body}</main></html>\n'
        )
    for place, text in written.items():
        path = out / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.copy(STYLE, out / "docs.css")
    for picture in pictures:
        path = out / picture.relative_to(ROOT)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, path)
    print(f"{len(written)} pages in {out}")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else "target/docs"))
    except ValueError as error:
        sys.exit(f"build_docs: {error}")
