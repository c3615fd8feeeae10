"""What people apply, made from one chart: the schema of its values, its versions, and the kustomize folders."""
