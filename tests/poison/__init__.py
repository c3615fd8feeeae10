"""Poisonous objects: what the API server takes and what a component must survive, and what people are told of it."""
