"""The routes, grouped by topic; `turnlens.service.endpoints` lists them all."""
