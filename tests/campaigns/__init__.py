"""Long runs that damage things at random, with a bound of time: python -m tests.campaigns.NAME."""
