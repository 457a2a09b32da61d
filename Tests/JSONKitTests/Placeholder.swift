// Room for JSONKitTests.
