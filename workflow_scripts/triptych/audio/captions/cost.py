"""What captions cost: an estimate before, a count on the way, and a limit that holds.

Tokens are estimated as characters / 4 (OpenAI's rule of thumb for English) for the prompt and as
19 a caption for the answer (about 95 for five); both are corrected by the ratio of true to
estimated tokens over the answers so far.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triptych.audio.captions.cache import Answer, Request
from triptych.core.errors import InputError

CHARACTERS_PER_TOKEN = 4.0
TOKENS_PER_CAPTION = 19
MESSAGE_TOKENS = 8
"""What chat formatting adds to a prompt."""

ASSUMED_LONGEST_ANSWER = 400
"""Tokens of the longest answer expected where no parameter limits them (five sentences: ~150)."""

_LIMITS = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True)
class Prices:
    """Money for a million tokens."""

    input: float
    output: float
    currency: str

    def of(self, input_tokens: float, output_tokens: float) -> float:
        """The price of so many tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


class BudgetReached(InputError):
    """The next request might cost more than the budget leaves."""


class Account:
    """Keeps what was spent, what open requests may still cost, and the limit.

    Cached answers count as spent (`credit`): the budget is for the captions that are asked for,
    however many runs it takes, so starting again is not a new budget.
    """

    def __init__(
        self, prices: Prices, budget: float | None, captions: int, thinking_tokens: int = 0
    ) -> None:
        self.prices, self.budget = prices, budget
        self.input_tokens = self.output_tokens = 0
        self.spent = 0.0  # the price of all answers so far, in this run or an earlier one
        self.perhaps = 0.0  # requests that broke off may have been charged all the same
        self._thinking_tokens = thinking_tokens
        self._expected_output = expected_output(captions, thinking_tokens)
        self._open: dict[str, float] = {}
        self._reserved = 0.0
        self._estimated_input = self._estimated_output = 0.0

    @property
    def open_requests(self) -> int:
        """How many reserved requests are not settled yet."""
        return len(self._open)

    def estimate(self, request: Request) -> float:
        """The expected price of one request."""
        scale_in = self.input_tokens / self._estimated_input if self._estimated_input else 1.0
        scale_out = self.output_tokens / self._estimated_output if self._estimated_output else 1.0
        tokens = estimated_input(request.prompt)
        return self.prices.of(scale_in * tokens, scale_out * self._expected_output)

    def worst(self, request: Request) -> float:
        """The highest price of one request.

        No token is shorter than a byte, so the input is bounded; the output is by the parameters
        max_completion_tokens or max_tokens, otherwise by an assumption.
        """
        longest = longest_answer(request.parameters, self._thinking_tokens)
        return self.prices.of(len(request.prompt.encode()) + MESSAGE_TOKENS, longest)

    def reserve(self, request: Request) -> bool:
        """Set the worst case of a request aside; False if the budget does not allow it now."""
        worst = self.worst(request)
        committed = self.spent + self.perhaps + self._reserved
        if self.budget is not None and committed + worst > self.budget:
            return False
        self._reserved += worst
        self._open[request.key] = worst
        return True

    def charge(self, request: Request, answer: Answer) -> None:
        """Replace a reservation by what the answer cost."""
        self.release(request)
        self.credit(request, answer)

    def release(self, request: Request) -> None:
        """Drop the reservation of a request, if it has one."""
        self._reserved -= self._open.pop(request.key, 0.0)

    def credit(self, request: Request, answer: Answer) -> None:
        """Count an answer."""
        self.spent += self.prices.of(answer.input_tokens, answer.output_tokens)
        self.input_tokens += answer.input_tokens
        self.output_tokens += answer.output_tokens
        self._estimated_input += estimated_input(request.prompt)
        self._estimated_output += self._expected_output

    def broke_off(self, request: Request) -> None:
        """A request timed out or was cut: count its expected price, it may have been answered."""
        self.perhaps += self.estimate(request)

    def money(self, amount: float) -> str:
        """For people: 0.0031 USD, 12.40 USD."""
        digits = f"{amount:.2f}" if amount >= 1 or amount == 0 else f"{amount:.2g}"
        return f"{digits} {self.prices.currency}"


def estimated_input(prompt: str) -> float:
    """Tokens of a prompt by its length."""
    return len(prompt) / CHARACTERS_PER_TOKEN + MESSAGE_TOKENS


def estimated_tokens(text: str) -> int:
    """Tokens of an answer by its length, for servers that do not count."""
    return round(len(text) / CHARACTERS_PER_TOKEN)


def expected_output(captions: int, thinking_tokens: int) -> float:
    """Tokens of an answer with so many captions, with what a reasoning model thinks before it."""
    return TOKENS_PER_CAPTION * captions + thinking_tokens


def with_thinking(parameters: Mapping[str, Any], thinking_tokens: int) -> dict[str, Any]:
    """A request's parameters with room for thinking: a server counts it against an answer's limit,
    which would else be used up before the answer begins."""
    return {
        name: value + thinking_tokens if name in _LIMITS and value is not None else value
        for name, value in parameters.items()
    }


def longest_answer(parameters: Mapping[str, Any], thinking_tokens: int = 0) -> int:
    """Most tokens that an answer can have, where the parameters have room for thinking already."""
    limits = [int(parameters[name]) for name in _LIMITS if parameters.get(name) is not None]
    return min(limits, default=ASSUMED_LONGEST_ANSWER + thinking_tokens)
