// Marks the root of the program. The versions are those of the control plane: build.py passes
// -modfile=../controlplane/go.mod, so that both are kube-scheduler of one release.
module fairlead/tools/oracle
