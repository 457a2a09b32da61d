// Room for SealKit.
