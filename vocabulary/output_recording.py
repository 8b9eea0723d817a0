"""What a command has printed, for `answer_cache`: every line for stdout and stderr passes here."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Recording:
    """The output of a command, and whether it follows from the rows of a warehouse alone."""

    printed: list[tuple[str, str]] = field(default_factory=list)  # stream, text
    sources: list[bool] = field(default_factory=list)  # whether each was committed as it is

    @property
    def of_rows(self) -> bool:
        return bool(self.sources) and all(self.sources)


current: list[Recording] = []  # at most one: of the command that runs


def note(stream: str, text: str) -> None:
    """Note a text as it was written to `stdout` or `stderr`."""
    for recording in current:
        recording.printed.append((stream, text))


def note_source(*, committed: bool) -> None:
    """Note that the command reads rows, and whether all of them were committed as they are."""
    for recording in current:
        recording.sources.append(committed)
