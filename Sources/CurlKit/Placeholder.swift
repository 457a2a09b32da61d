// Room for CurlKit.
