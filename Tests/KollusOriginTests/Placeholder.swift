// Room for KollusOriginTests.
