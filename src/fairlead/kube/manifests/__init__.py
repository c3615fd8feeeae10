"""Files to snapshots, for the command line and the page: files and directories in, the tables of the levels out.

`load` finds and parses files, `catalogue` sorts their objects; the other modules look things up among them. How one
object is converted is in `kube/codec`, which the live components share; they import nothing from here.
"""
