"""The routes, grouped by topic; `turnwise.service.endpoints` lists them all."""
