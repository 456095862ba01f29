"""The types and ranges of parameters, and the error messages for wrong values."""

from typing import Annotated

from pydantic import AfterValidator, Field

from ircotlib.retrieval.names import check_retriever

KINDS = {  # pydantic's type of error -> what was expected
    "missing": "one more value",
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list, as [a, b]",
    "tuple_type": "a list, as [a, b]",
}


def _different(values: list) -> list:
    if len(set(map(str, values))) < len(values):
        raise ValueError("expected each value once")
    return values


def _addresses(server: str) -> str:
    from ircotlib.generation.addresses import read_addresses

    return ",".join(read_addresses(server)) if server else ""


Count = Annotated[int, Field(ge=1, strict=True)]
Number = Annotated[int, Field(ge=0, strict=True)]
Threads = Annotated[int, Field(ge=1, le=1024, strict=True)]
Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1)]
Values = Annotated[list[Count], Field(min_length=1), AfterValidator(_different)]
Distractors = Annotated[list[Count], AfterValidator(_different)]
Names = Annotated[list[Name], AfterValidator(_different)]
SomeNames = Annotated[Names, Field(min_length=1)]
Retriever = Annotated[str, AfterValidator(check_retriever)]
Retrievers = Annotated[list[Retriever], AfterValidator(_different)]
Server = Annotated[str, AfterValidator(_addresses)]
Prices = Annotated[list[Cost], Field(min_length=2, max_length=2)]
Worlds = Annotated[list[tuple[int, Count, Count]], Field(min_length=1)]


def describe(error: dict) -> str:
    """Describe an error that pydantic found in a parameter, in one line."""
    if not error["loc"]:
        return str(error["ctx"]["error"])
    name, kind = error["loc"][0], error["type"]
    if kind == "missing" and len(error["loc"]) == 1:
        return f"found no parameter {name!r}, expected the profile to set it"
    said = error["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if said.startswith("found"):
        return f"{name}: {said}"
    said = KINDS.get(kind) or _length(error) or said.removeprefix("expected ")
    return f"{name}: found {error['input']!r}, expected {said}"


def _length(error: dict) -> str:
    """What was expected instead of a text or list of the wrong length; "" for other errors."""
    least, most = (error.get("ctx", {}).get(name) for name in ("min_length", "max_length"))
    if "string" in error["type"]:
        return "a text that is not empty" if least else ""
    return f"at least {least}" if least else f"at most {most}" if most else ""
