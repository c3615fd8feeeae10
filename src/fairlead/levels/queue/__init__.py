"""Queue: whose turn it is, queue by queue, then namespace, then job. The verb is `share`."""
