"""Check the built site: internal links and anchors lead somewhere, and pages load nothing from elsewhere.

python ci/site_links.py FOLDER
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {  # what a browser fetches by itself when it shows a page
    "script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src",
    "audio": "src", "embed": "src", "object": "data",
}  # fmt: skip
# Of a link, only these are fetched; others, such as rel="next", point to pages.
FETCHED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "shortcut icon"}


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def has(self, anchor: str) -> bool:
        """Whether a link to the anchor leads to a place on the page; an empty one leads to its top."""
        return anchor in {"", *self.anchors}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Collect from one tag."""
        values = {name: value or "" for name, value in attributes}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        fetched = tag != "link" or values.get("rel") in FETCHED_LINKS
        if tag in LOADED and LOADED[tag] in values and fetched:
            self.loaded.append(values[LOADED[tag]])
        self.loaded += re.findall(r"url\(['\"]?((?:https?:)?//[^)'\"]+)", values.get("style", ""))


def problems(folder: Path) -> list[str]:
    """Return what is wrong with the pages and style sheets of a folder, a line each."""
    pages = {
        path: Page(path.read_text())
        for path in folder.rglob("*.html")
        if "_static" not in path.parts  # the theme's templates
    }
    lines = []
    for path, page in pages.items():
        where = path.relative_to(folder)
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    lines.append(f"{where}: loads {link} from elsewhere")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                lines.append(f"{where}: {link} leads nowhere")
            elif target in pages and not pages[target].has(unquote(parts.fragment)):
                lines.append(f"{where}: {link} has no such anchor")
    for path in folder.rglob("*.css"):
        name = path.relative_to(folder)
        addresses = re.findall(
            r"(?:@import\s+|url\()['\"]?((?:https?:)?//[^)'\"]+)", path.read_text()
        )
        lines += [f"{name}: loads {address} from elsewhere" for address in addresses]
    return lines if pages else [f"{folder}: no pages"]


if __name__ == "__main__":
    found = problems(Path(sys.argv[1]).resolve())
    print("\n".join(found) or "all links of the site lead somewhere", flush=True)
    sys.exit(bool(found))
