"""`python -m bench`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the working folder: a stray `re.py` there is not ours to run
    from .cli import main

    main()
