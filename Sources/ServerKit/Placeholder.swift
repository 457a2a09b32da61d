// Room for ServerKit.
