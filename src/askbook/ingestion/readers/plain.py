"""A folder of Markdown or MDX that no known site generator builds."""

from typing import Any

from askbook.ingestion.readers.markdown import Dialect
from askbook.ingestion.readers.mdx import strip_mdx
from askbook.ingestion.readers.site import Page, SiteReader


class PlainReader(SiteReader):
    """Pages keep their file's path as address and get anchors as GitHub makes them."""

    kind = "plain"

    def route(self, source_file: str, fields: dict[str, Any]) -> str:
        slug = fields.get("slug")
        return slug if isinstance(slug, str) and slug.startswith("/") else f"/{source_file}"

    def prepare(self, page: Page) -> Dialect:
        if not page.source_file.endswith(".mdx"):
            return Dialect()
        page.source = strip_mdx(page.source)
        return Dialect(indented_code=False)
