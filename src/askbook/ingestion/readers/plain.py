"""A folder of Markdown or MDX that no known site generator builds."""

from askbook.ingestion.readers.markdown import Dialect
from askbook.ingestion.readers.mdx import strip_mdx
from askbook.ingestion.readers.site import SiteReader
from askbook.ingestion.readers.traced import TracedText


class PlainReader(SiteReader):
    """Pages keep their file's path as address and get anchors as GitHub makes them."""

    kind = "plain"

    def dialect(self, source_file: str) -> Dialect:
        return Dialect(indented_code=not source_file.endswith(".mdx"))

    def prepare(
        self, source: TracedText, source_file: str, includes: list[str], warnings: list[str]
    ) -> TracedText:
        return strip_mdx(source) if source_file.endswith(".mdx") else source
