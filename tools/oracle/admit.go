package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
)

// admit replaces every object by what the API server would store of it, leaves out those that it would refuse, and
// says why. Statuses are kept as they are: kubelets and controllers write them later.
func admit(cluster *Cluster) map[string]string {
	invalid := map[string]string{}
	for _, each := range cluster.Namespaces {
		legacyscheme.Scheme.Default(each)
	}
	cluster.Nodes = admitted(cluster.Nodes, "node", node.Strategy, invalid, func(from, to *v1.Node) { to.Status = from.Status })
	cluster.Pods = admitted(cluster.Pods, "pod", pod.Strategy, invalid, func(from, to *v1.Pod) { to.Status = from.Status })
	cluster.Volumes = admitted(cluster.Volumes, "volume", persistentvolume.Strategy, invalid,
		func(from, to *v1.PersistentVolume) { to.Status = from.Status })
	cluster.Claims = admitted(cluster.Claims, "claim", persistentvolumeclaim.Strategy, invalid,
		func(from, to *v1.PersistentVolumeClaim) { to.Status = from.Status })
	cluster.StorageClasses = admitted(cluster.StorageClasses, "class", storageclass.Strategy, invalid, nil)
	cluster.CSINodes = admitted(cluster.CSINodes, "csinode", csinode.Strategy, invalid, nil)
	cluster.CSIDrivers = admitted(cluster.CSIDrivers, "csidriver", csidriver.Strategy, invalid, nil)
	cluster.CSIStorageCapacities = admitted(cluster.CSIStorageCapacities, "capacity", csistoragecapacity.Strategy, invalid, nil)
	cluster.VolumeAttachments = admitted(cluster.VolumeAttachments, "attachment", volumeattachment.Strategy, invalid, nil)
	return invalid
}

type object interface {
	runtime.Object
	metav1.Object
}

func admitted[T object](
	given []T, kind string, strategy rest.RESTCreateStrategy, invalid map[string]string, keepStatus func(from, to T),
) []T {
	kept := make([]T, 0, len(given))
	for _, each := range given {
		stored, err := stored(each, strategy)
		if err != nil {
			invalid[fmt.Sprintf("%s %s/%s", kind, each.GetNamespace(), each.GetName())] = err.Error()
			continue
		}
		if keepStatus != nil {
			keepStatus(each, stored)
		}
		kept = append(kept, stored)
	}
	return kept
}

// stored runs defaults, strategy and validation on the internal version, as a create does.
func stored[T object](each T, strategy rest.RESTCreateStrategy) (T, error) {
	result := each.DeepCopyObject().(T)
	legacyscheme.Scheme.Default(result)
	internal, err := legacyscheme.Scheme.ConvertToVersion(result, runtime.InternalGroupVersioner)
	if err != nil {
		return result, err
	}
	strategy.PrepareForCreate(context.Background(), internal)
	if errs := strategy.Validate(context.Background(), internal); len(errs) > 0 {
		return result, errs.ToAggregate()
	}
	strategy.Canonicalize(internal)
	back := each.DeepCopyObject()
	if err := legacyscheme.Scheme.Convert(internal, back, nil); err != nil {
		return result, err
	}
	return back.(T), nil
}
