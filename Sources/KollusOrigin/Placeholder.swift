// Room for KollusOrigin.
