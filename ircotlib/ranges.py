"""The types of parameters: what values each may have, checked by pydantic."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError

from ircotlib.data import expected_by
from ircotlib.errors import UserError
from ircotlib.retrieval import check_retriever


def _once(values: list) -> list:
    if len(set(map(str, values))) < len(values):
        raise UserError("expected each value once")
    return values


def _read_server(server: str) -> str:
    from ircotlib.generation.server import read_address

    return read_address(server) if server else ""


def _check_workers(workers: object) -> object:
    if workers == "auto" or (type(workers) is int and 1 <= workers <= 1024):
        return workers
    if re.fullmatch(r"ray:(auto|[\w.-]+:\d+)", str(workers)):
        return workers
    raise UserError(f"found {workers!r}, expected auto, a number from 1 to 1024, or ray:ADDRESS")


Count = Annotated[int, Field(ge=1, strict=True)]
Number = Annotated[int, Field(ge=0, strict=True)]
Sets = Annotated[int, Field(ge=1, le=3, strict=True)]
Seed = Annotated[int, Field(strict=True)]
Threads = Annotated[int, Field(ge=1, le=1024, strict=True)]
Workers = Annotated[int | str, BeforeValidator(_check_workers)]
Cost = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]
Seconds = Annotated[float, Field(gt=0, le=86_400, strict=True)]
Steps = Annotated[int, Field(ge=1, le=1000, strict=True)]
Prices = Annotated[list[Cost], Field(min_length=2, max_length=2)]
Worlds = Annotated[list[tuple[Seed, Count, Count]], Field(min_length=1)]
Server = Annotated[str, AfterValidator(_read_server)]
Retriever = Annotated[str, AfterValidator(check_retriever)]
Retrievers = Annotated[list[Retriever], AfterValidator(_once)]
Name = Annotated[str, Field(min_length=1)]
Names = Annotated[list[Name], AfterValidator(_once)]
SomeNames = Annotated[Names, Field(min_length=1)]
Counts = Annotated[list[Count], AfterValidator(_once)]
SomeCounts = Annotated[Counts, Field(min_length=1)]


def check(record: type[BaseModel], values: dict) -> BaseModel:
    """A record with these values. Raises UserError, in one line, for others than it may have."""
    try:
        return record(**values)
    except ValidationError as error:
        raise UserError("; ".join(map(_describe, error.errors()))) from None


def _describe(error: dict) -> str:
    """An error that pydantic found, in one line."""
    if not error["loc"]:
        return str(error["ctx"]["error"])
    name = error["loc"][0]
    message = error["msg"].removeprefix("Value error, ")
    if message.startswith("found"):
        return f"{name}: {message}"
    if error["type"] == "missing" and len(error["loc"]) == 1:
        return f"found no parameter {name!r}, expected the profile to set it"
    return f"{name}: found {error['input']!r}, expected {expected_by(error)}"
