"""Where all the time of a run goes."""

from __future__ import annotations

ENTRIES = ("begin", "warm_up", "caught_up", "measured", "stopped", "handed_over")


class Ledger:
    """At any moment time goes to exactly one entry: nothing is left out, and nothing is counted twice."""

    def __init__(self, at: int) -> None:
        self.spent = dict.fromkeys(ENTRIES, 0)
        self._entry, self._since = "stopped", at

    def turn(self, entry: str, at: int) -> str:
        """Charges the time up to the stamp `at` to the entry that it went to, which it gives, and turns to another."""
        before, self._entry = self._entry, entry
        self.spent[before] += at - self._since
        self._since = at
        return before
