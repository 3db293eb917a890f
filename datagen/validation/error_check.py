"""The error check: what makes a labelled request worthless whatever its class."""

from __future__ import annotations

from dataclasses import dataclass

from datagen.synthetic_request import SyntheticRequest, Verdict
from datagen.validation.fluency import Leaks, incomplete
from datagen.validation.minimality import needless, unresolved
from datagen.validation.parsed_request import Reading, read
from datagen.validation.path_fit import Fitter
from datagen.validation.value_mismatch import mismatched

__all__ = ["ErrorCheck"]


@dataclass(frozen=True, kw_only=True)
class ErrorCheck:
    """Finds errors by rules."""

    fitter: Fitter
    leaks: Leaks
    name: str = "rules.v1"
    check: str = "error"

    def validate(self, request: SyntheticRequest) -> Verdict:
        """The verdict; what it fails for says which error."""
        fault = self._fault(request, read(request.text))
        reason = fault or "it is complete, its values go with its inputs and it needs each of its tools"
        return Verdict(check=self.check, passed=not fault, reason=reason, by=self.name)

    def _fault(self, request: SyntheticRequest, reading: Reading) -> str:
        tools = request.path.tools
        repeated = next((tool for at, tool in enumerate(tools) if tool in tools[:at]), "")
        if repeated:
            return f"{repeated} is in the path more than once"
        found = self.fitter.fit(request)
        return (
            incomplete(reading, self.leaks.vocabulary)
            or self.leaks.found(reading, tools)
            or mismatched(reading, (slot for tool in found.tools for slot in tool.slots), request.values)
            or unresolved(reading, found)
            or needless(request, reading, found)
        )
