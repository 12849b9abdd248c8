"""The routes, grouped by topic; `turnlens.service.app` lists them all."""
