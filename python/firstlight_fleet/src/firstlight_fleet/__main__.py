"""`python3 -m firstlight_fleet` is `firstlight-fleet`."""

from firstlight_fleet.cli import main

main()
