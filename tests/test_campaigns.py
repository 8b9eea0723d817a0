"""The long campaigns of tests/campaigns, short: kills and damage at random moments and places."""

import pytest

from tests.campaigns import crowd, damage, kills


@pytest.mark.slow
def test_kills_leave_a_whole_warehouse() -> None:
    killed, wrong = kills.campaign(kills=7, seconds=60, seed=7)
    assert killed.total() > 0 and wrong == []


@pytest.mark.slow
def test_damage_is_named_or_refused() -> None:
    found = damage.campaign(offsets=6, seconds=60, seed=6)
    assert found.total() > 0 and not found.keys() - {"whole", "named", "refused"}


@pytest.mark.slow
def test_a_crowd_loses_nothing() -> None:
    told, wrong = crowd.campaign(writers=2, readers=2, seconds=3)
    assert "rows exactly" in told and wrong == []
