// Room for KollusCommands.
