// Room for SealKitTests.
