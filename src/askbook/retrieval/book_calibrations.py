"""What was measured on each book with the embedder in use, for those who judge retrievals by it."""

from askbook.retrieval.anchors import Anchors
from askbook.retrieval.calibration import describe_calibration, is_shipped_for
from askbook.storage.calibrations import BookCalibration, CalibrationStore
from askbook.storage.remembering import Remembered


class BookCalibrations:
    """Knows what is stored as of this second: another process may have calibrated the book since."""

    def __init__(self, store: CalibrationStore, fingerprint: str, *, judged: bool) -> None:
        self._store = store
        self._judged = judged
        self.fingerprint = fingerprint
        self._anchors = Remembered(self._read_anchors)

    async def anchors(self, book_id: str) -> Anchors | None:
        """The anchors of a book; none for an embedder whose own calibration is shipped and needs none."""
        if is_shipped_for(self.fingerprint):
            return None
        return await self._anchors.get(book_id)

    async def _read_anchors(self, book_id: str) -> Anchors | None:
        found = await self._store.find(book_id, self.fingerprint)
        return None if found is None else _anchors(found)

    async def describe(self, book_id: str) -> str:
        """Which calibration judges this book."""
        found = await self._store.find(book_id, self.fingerprint)
        if found is None:
            return describe_calibration(self.fingerprint, None, None, judged=self._judged)
        return describe_calibration(
            self.fingerprint,
            _anchors(found),
            found.made_at,
            judged=self._judged,
            is_old=await self._store.changed_since(book_id, found.made_at),
        )

    async def keep(self, made: BookCalibration) -> None:
        await self._store.save(made)
        self._anchors.forget()

    async def forget(self, book_id: str) -> None:
        """A book that can no longer be calibrated keeps nothing of when it could."""
        await self._store.forget(book_id, self.fingerprint)
        self._anchors.forget()


def _anchors(found: BookCalibration) -> Anchors:
    return Anchors(found.foreign_cosine, found.own_cosine, found.spread)
