// Room for KollusCoreTests.
