"""S3 on loopback (moto's), which fails now and then: `s3.py PORT [SHARE [STALL_S]]`.

SHARE of the requests are answered by 500, a tenth as many only after STALL_S seconds.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]  # Any: WSGI's


def failing(app: App, share: float, stall_s: float) -> App:
    """The same application, of which some answers fail."""
    dice = random.Random(24)

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        # A bucket is made at once.
        throw = dice.random() if environ["PATH_INFO"].count("/") > 1 else 1.0
        if throw < share:
            start("500 Internal Server Error", [("Content-Length", "0")])
            return [b""]
        if throw < 1.1 * share:
            time.sleep(stall_s)
        return app(environ, start)

    return answer


if __name__ == "__main__":
    port, share, stall_s = (*sys.argv[1:], "0", "0")[:3]
    app = failing(DomainDispatcherApplication(create_backend_app), float(share), float(stall_s))
    run_simple("127.0.0.1", int(port), app, threaded=True)
