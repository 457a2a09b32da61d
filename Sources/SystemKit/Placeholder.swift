// Room for SystemKit.
