"""Volume claims as the API server has them: what they demand of a node, for the live scheduler and for plans alike."""
