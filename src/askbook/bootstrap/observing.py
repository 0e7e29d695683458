"""Who is told what happens inside: metrics are one such observer. It must not fail and not wait."""

from typing import TYPE_CHECKING, Protocol

from askbook.agent.response import AgentResponse

if TYPE_CHECKING:
    from askbook.ingestion.jobs import IngestionJob


class Observer(Protocol):
    """Is told of every turn and every ingest that is over."""

    def turn_ended(self, response: AgentResponse) -> None: ...

    def turn_failed(self) -> None: ...

    def job_ended(self, job: "IngestionJob") -> None: ...


class Unobserved:
    """Nobody looks."""

    def turn_ended(self, response: AgentResponse) -> None:
        pass

    def turn_failed(self) -> None:
        pass

    def job_ended(self, job: "IngestionJob") -> None:
        pass
