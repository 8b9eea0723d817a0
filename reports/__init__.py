"""Reports: a query and a template of the same name make a page."""
