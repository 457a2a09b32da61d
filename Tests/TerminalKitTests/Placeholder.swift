// Room for TerminalKitTests.
