"""Speeds; nothing here asserts anything about time.

Goals are what is wanted, one line each of the table that `python -m bench` writes (goals.py). A group shows more of one
area as ratios measured side by side: a module with `run(report)`. To add one, write bench/<name>.py and add its line to
GROUPS.
"""

GROUPS = {
    "fleet": "one binding over 100 clusters and 100,000 bindings at once, beside Karmada's figures",
    "fleet_live": "bindings changed at once on a real API server: Fairlead, and a bare loop of the same writes",
    "storage_live": "storage replicas that wait at once on a real API server, beside a bare loop of the same writes",
    "disk": "one storage replica and bursts of them, beside Longhorn's figures",
    "kernels": "how the cost of the kernels grows with targets and units, against one heap turn a unit",
    "node": "strategies over 100,000 nodes, bound cpu and volumes, against one heap turn a replica",
    "queue": "10,000 jobs of 100 replicas in 100 queues and 1,000 namespaces, against one turn a replica",
    "turns": "turns of the live scheduler while gangs wait on a full cluster, at three sizes",
    "admissions": "reviews of counted pods in bursts on a real API server, beside one list and one write",
    "tier": "one admission from review to answer, beside an empty answer, and one attempt to count",
    "scheduler": "pods bound a second on a real API server: kube-scheduler, Fairlead, and a bare loop of bindings",
    "gangs": "time to start gangs of Kubernetes' own PodGroups on a real API server: kube-scheduler and Fairlead",
    "volcano": "200 gangs of Volcano Jobs in queues 1:2:3:4 on a real API server, beside vc-scheduler as recorded",
    "simulate": "one simulated day of 500 to 5,000 nodes and 20,000 to 200,000 arrivals",
    "plan": "manifests of 500 to 5,000 nodes and 10,000 to 100,000 pods, from the file to the record",
    "optimality": "how far from the optimum of an exact solver each level is",
    "scale": "15,000 nodes with 300,000 pods, and 100 clusters with 100,000 bindings, on generated objects",
    "page": "the page on 5,000 nodes and 100,000 pods: time to the first picture, bytes, frames a second",
    "kube": "decoding 10,000 pods typed and as dictionaries, and watch events through a TLS server",
}
