"""Workers of services: they answer calls of `service/method`."""
