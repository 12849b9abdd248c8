"""The routes, by what they are about; `turnwise.service.endpoints` lists them all."""
