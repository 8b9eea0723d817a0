"""What is kept of the texts of documents."""

from __future__ import annotations

import tracemalloc

from bench.ingest.documents.text_cache import cached


def test_hostile_documents_do_not_fill_the_memory() -> None:
    """Lines of nothing but sizes have the most to keep: some 15 MB, however many there are."""
    sizes = cached(lambda text: tuple((word, float(at)) for at, word in enumerate(text.split())))
    tracemalloc.start()
    for number in range(4000):
        sizes(f"{number} " + "1B " * 160)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 32e6
    assert sizes("7B") is sizes("7B"), "a text is read once"
