// Room for JSONKit.
