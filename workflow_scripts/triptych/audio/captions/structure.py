"""Structured output: an answer as JSON, which leaves a model no room for introductions or notes."""

import logging
from dataclasses import dataclass
from typing import Any

from triptych.audio.captions.cache import Request
from triptych.audio.captions.troubles import FILTERED, NO_CREDIT

logger = logging.getLogger(__name__)

FIELD = "response_format"
_FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "captions",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"captions": {"type": "array", "items": {"type": "string"}}},
            "required": ["captions"],
            "additionalProperties": False,
        },
    },
}
_REFUSING = {400, 415, 422, 501}
_OTHER_TROUBLES = FILTERED | NO_CREDIT | {"model_not_found", "invalid_api_key"}


@dataclass
class StructuredOutput:
    """Whether a server takes a schema for its answers; `offered` is None until one was asked.

    The schema is no part of a request's digest: the captions in an answer are checked alike, and
    what was paid for stays paid for when a server learns to take one. Who sets response_format in
    audio.captions.parameters gets that, and only that.
    """

    offered: bool | None = None

    def field(self, request: Request) -> dict[str, Any]:
        """What to add to a request's body: nothing where the server refused it before."""
        return {} if self.offered is False or FIELD in request.parameters else {FIELD: _FORMAT}

    def known_field(self, request: Request) -> dict[str, Any]:
        """The same, and nothing either where it isn't known, for a batch that would fail whole."""
        return self.field(request) if self.offered else {}

    def refused(self, status: int, code: str) -> bool:
        """Whether an error may be about the schema, which is then asked for no more."""
        if status not in _REFUSING or code in _OTHER_TROUBLES:
            return False
        if self.offered is not False:
            logger.info("the server takes no JSON schema for its answers; asking without")
        self.offered = False
        return True
