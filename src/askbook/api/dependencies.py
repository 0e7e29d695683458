"""What routes are given: the running `Askbook`."""

from typing import Annotated

from fastapi import Depends, Request

from askbook.bootstrap import Askbook


def running_askbook(request: Request) -> Askbook:
    return request.app.state.askbook


Running = Annotated[Askbook, Depends(running_askbook)]
