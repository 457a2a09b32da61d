// Room for ServerKitTests.
