// Room for SystemKitTests.
