"""What watches Fairlead from outside: alerts for Prometheus and dashboards for Grafana, made from code.

`alerts` and `dashboards` say what there is; `rules` and `panels` know the forms; `files` are what the chart carries.
"""
