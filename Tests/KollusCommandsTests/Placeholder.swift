// Room for KollusCommandsTests.
