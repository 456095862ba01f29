"""The encyclopedia: entities, the relations between them (tables), and the pages."""
