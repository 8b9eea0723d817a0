from pathlib import Path
import shutil

SPIKE = 40.25
HOSTILE = []


def built(folder):
    shutil.copytree("/tmp/browser/hand", folder / "site")
    return folder / "site"
