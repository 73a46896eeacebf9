"""Pages. URL, view, template and test share a name; one view gives the page and, for htmx, its `_partial`."""
