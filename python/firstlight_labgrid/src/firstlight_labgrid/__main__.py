"""Answers requests, a line of JSON each, until the input ends."""

import json
import os
import signal
import sys

from .place import Place


def answer(place, request):
    """Does what is asked; what it gives."""
    what = request.get("do")
    if what == "acquire":
        return place.acquire(request["place"], request.get("coordinator"))
    if what == "power_on":
        place.power(True)
        return {}
    if what == "power_off":
        place.power(False)
        return {}
    if what == "console":
        return {"at": place.console()}
    raise ValueError(f"unknown request {what!r}")


def sentence(error):
    """An error in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:500]


def main():
    """Runs until the other side closes the pipe, and releases what was acquired."""
    # labgrid prints; standard output carries the answers alone.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # Whoever started this decides when it ends, by closing the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    place = Place()
    try:
        for line in sys.stdin:
            try:
                given = answer(place, json.loads(line))
            except Exception as error:  # pylint: disable=broad-except
                given = {"error": sentence(error)}
            try:
                print(json.dumps(given), file=answers, flush=True)
            except BrokenPipeError:
                break
    finally:
        place.release()


if __name__ == "__main__":
    main()
