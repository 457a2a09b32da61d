// Room for KollusCore.
