// Room for CurlKitTests.
