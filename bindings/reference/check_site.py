"""Checks a built site: `check_site.py FOLDER`. Every link inside it leads to a page and a place that
are there, and nothing is loaded from the network, so that it can be read from a disk.
"""

from __future__ import annotations

import html.parser
import pathlib
import sys
import urllib.parse

LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
NOT_LOADED = {"canonical", "alternate", "prev", "next", "edit"}  # of <link rel=...>


class Page(html.parser.HTMLParser):
    def __init__(self, path: pathlib.Path):
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.places |= {v for k, v in attrs if k in ("id", "name") and v}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        related = set((given.get("rel") or "").split())
        for name, value in attrs:
            if (tag, name) in LOADS and value and not related & NOT_LOADED:
                self.loads.append(value)


def faults(site: pathlib.Path) -> list[str]:
    pages = {p.resolve(): Page(p) for p in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
        if here.name == "404.html":  # its links begin at the root of a server
            continue
        for link in page.loads + page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    found.append(f"{here}: loads {link}")
                continue
            target = (
                (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            )
            place = urllib.parse.unquote(parts.fragment)
            if not target.is_file():
                found.append(f"{here}: {link} leads nowhere")
            elif place and target in pages and place not in pages[target].places:
                found.append(f"{here}: {link} names a place that is not there")
    return found if pages else [f"{site} has no pages"]


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    listed = faults(folder)
    print("\n".join(listed[:50]) or f"{folder}/index.html: links checked")
    sys.exit(bool(listed))
