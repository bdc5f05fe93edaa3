"""Builds the documentation as pages: README, the guides in docs/, the API reference, one HTML file each.

    python3 tools/build_docs.py target/docs

Needs the package markdown. Every link between pages is checked: a link to a file or a heading that is not there is an
error. The pages need no network.
"""

import html
import re
import shutil
import sys
from pathlib import Path

import markdown

ROOT = Path(__file__).resolve().parent.parent
STYLE = Path(__file__).with_name("docs.css")

# The sections of the menu, each with its pages in order.
MENU = {
    "Start": ["README.md", "docs/python/quickstart.md", "docs/python/coming-from-snorkel.md"],
    "Guides": [
        "docs/label-models.md",
        "docs/uncertainty.md",
        "docs/regression.md",
        "docs/completion.md",
        "docs/report.md",
        "docs/scale.md",
        "docs/files.md",
    ],
    "Python": ["docs/python/README.md", "docs/python/regression.md", "docs/python/completion.md", "docs/python/api.md"],
    "Results": [
        "docs/reproduction.md",
        "docs/performance.md",
        "docs/reliability.md",
        "docs/label-models-on-planted-votes.md",
        "docs/label-models-on-crowds.md",
    ],
    "Project": ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/dependencies.md", "docs/notation.md"],
}


def pages():
    """All pages: those of the menu that are there, then the others."""
    named = [ROOT / page for section in MENU.values() for page in section]
    found = sorted(ROOT.glob("docs/**/*.md"))
    return [page for page in named if page.exists()] + [page for page in found if page not in named]


def place_of(source):
    """The page that a file becomes; the README is the first."""
    relative = source.relative_to(ROOT)
    return Path("index.html") if relative == Path("README.md") else relative.with_suffix(".html")


def slug(text, separator):
    """The anchor of a heading, as forges make it: links work there and here."""
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
    """Where a link of a page leads to among the pages; raises when there is nothing."""
    if re.match(r"[a-z]+:", target):
        return target
    path, _, anchor = target.partition("#")
    file = (source.parent / path).resolve() if path else source
    if not file.exists():
        raise ValueError(f"{source.relative_to(ROOT)}: a link to {target}, which is not there")
    if file not in sources:
        return None
    if anchor and anchor not in anchors[file]:
        raise ValueError(f"{source.relative_to(ROOT)}: a link to {target}, whose heading is not there")
    here = place_of(source).parent
    up = "../" * len(here.parts)
    return f"{up}{place_of(file).as_posix()}" + (f"#{anchor}" if anchor else "")


def with_links(body, source, sources, anchors, pictures):
    """The body with links to pages, and pictures that travel with them."""

    def replace(match):
        attribute, target = match.group(1), html.unescape(match.group(2))
        if attribute == "src" and not re.match(r"[a-z]+:", target):
            file = (source.parent / target).resolve()
            if not file.exists():
                raise ValueError(f"{source.relative_to(ROOT)}: a picture {target}, which is not there")
            pictures.add(file)
            return match.group(0)
        found = link(target, source, sources, anchors)
        # Files of the repository that are no pages are named, not linked.
        return "" if found is None else f'{attribute}="{html.escape(found)}"'

    return re.sub(r'\b(href|src)="([^"]*)"', replace, body)


def menu(current, titles):
    """The list of pages beside each page."""
    up = "../" * len(place_of(current).parent.parts)
    parts = []
    for section, names in MENU.items():
        items = []
        for name in names:
            source = ROOT / name
            if source in titles:
                mark = ' aria-current="page"' if source == current else ""
                items.append(f'<li><a href="{up}{place_of(source).as_posix()}"{mark}>{html.escape(titles[source])}</a></li>')
        parts.append(f"<h2>{section}</h2><ul>{''.join(items)}</ul>")
    return "".join(parts)


def main(out):
    sources = pages()
    rendered = {source: render(source) for source in sources}
    titles = {source: title for source, (title, _, _) in rendered.items()}
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
            f'<nav aria-label="Pages">{menu(source, titles)}</nav><main id="content">{body}</main></html>\n'
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
