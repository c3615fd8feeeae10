package main

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkplugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// filters holds the framework of the default profile. Its informers are never started: the stores behind their listers
// are filled by hand, one cluster after another, which the passive caches of the volume plugins see at once.
type filters struct {
	framework framework.Framework
	informers informers.SharedInformerFactory
	snapshot  *current
}

// current lets one framework read one snapshot after another.
type current struct{ *internalcache.Snapshot }

func newFilters(ctx context.Context) (*filters, error) {
	metrics.Register()
	profile, err := defaultProfile()
	if err != nil {
		return nil, err
	}
	client := fake.NewClientset()
	factory := scheduler.NewInformerFactory(client, 0)
	slices, err := resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{
		SliceInformer: factory.Resource().V1().ResourceSlices(), KubeClient: client,
	})
	if err != nil {
		return nil, err
	}
	claims := assumecache.NewAssumeCache(
		klog.FromContext(ctx), factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	snapshot := &current{internalcache.NewEmptySnapshot()}
	built, err := frameworkruntime.NewFramework(ctx, frameworkplugins.NewInTreeRegistry(), profile,
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedDRAManager(dynamicresources.NewDRAManager(ctx, claims, slices, factory)),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
	)
	if err != nil {
		return nil, err
	}
	return &filters{framework: built, informers: factory, snapshot: snapshot}, nil
}

// defaultProfile is what kube-scheduler runs without a configuration file.
func defaultProfile() (*schedulerapi.KubeSchedulerProfile, error) {
	var versioned configv1.KubeSchedulerConfiguration
	scheme.Scheme.Default(&versioned)
	var config schedulerapi.KubeSchedulerConfiguration
	if err := scheme.Scheme.Convert(&versioned, &config, nil); err != nil {
		return nil, err
	}
	return &config.Profiles[0], nil
}

// judge answers for every pod that waits for a node.
func (f *filters) judge(cluster *Cluster) (map[string]Verdict, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := f.load(ctx, cluster); err != nil {
		return nil, err
	}
	verdicts := map[string]Verdict{}
	for _, pod := range cluster.Pods {
		if pod.Spec.NodeName == "" && !finished(pod) && pod.DeletionTimestamp == nil {
			verdicts[pod.Namespace+"/"+pod.Name] = f.verdict(ctx, pod)
		}
	}
	return verdicts, nil
}

func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// load makes the cluster what listers and snapshot tell. Finished pods are never seen: the pod informer selects them away.
func (f *filters) load(ctx context.Context, cluster *Cluster) error {
	core, storage := f.informers.Core().V1(), f.informers.Storage().V1()
	schedulerCache := internalcache.New(ctx, nil, false)
	logger := klog.FromContext(ctx)
	var pods []*v1.Pod
	for _, each := range cluster.Nodes {
		schedulerCache.AddNode(logger, each)
	}
	for _, each := range cluster.Pods {
		if finished(each) {
			continue
		}
		pods = append(pods, each)
		if each.Spec.NodeName != "" {
			if err := schedulerCache.AddPod(logger, each); err != nil {
				return err
			}
		}
	}
	snapshot := internalcache.NewEmptySnapshot()
	if err := schedulerCache.UpdateSnapshot(logger, snapshot); err != nil {
		return err
	}
	f.snapshot.Snapshot = snapshot
	return firstError(
		fill(core.Namespaces().Informer(), cluster.Namespaces),
		fill(core.Nodes().Informer(), cluster.Nodes),
		fill(core.Pods().Informer(), pods),
		fill(core.PersistentVolumes().Informer(), cluster.Volumes),
		fill(core.PersistentVolumeClaims().Informer(), cluster.Claims),
		fill(storage.StorageClasses().Informer(), cluster.StorageClasses),
		fill(storage.CSINodes().Informer(), cluster.CSINodes),
		fill(storage.CSIDrivers().Informer(), cluster.CSIDrivers),
		fill(storage.CSIStorageCapacities().Informer(), cluster.CSIStorageCapacities),
		fill(storage.VolumeAttachments().Informer(), cluster.VolumeAttachments),
	)
}

func fill[T any](informer cache.SharedIndexInformer, objects []T) error {
	list := make([]any, len(objects))
	for place, each := range objects {
		list[place] = each
	}
	return informer.GetIndexer().Replace(list, "")
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// verdict runs what stands before the scoring of a pod: PreEnqueue, PreFilter, and Filter on every node that is left.
func (f *filters) verdict(ctx context.Context, pod *v1.Pod) Verdict {
	answer := Verdict{Feasible: []string{}, Refused: map[string]Refusal{}}
	for _, plugin := range f.framework.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(ctx, pod); !status.IsSuccess() {
			answer.Everywhere = &Refusal{plugin.Name(), status.Message()}
			return answer
		}
	}
	state := framework.NewCycleState()
	result, status, _ := f.framework.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		answer.Everywhere = refusal(status)
		return answer
	}
	nodes, _ := f.snapshot.NodeInfos().List()
	for _, info := range nodes {
		name := info.Node().Name
		if !result.AllNodes() && !result.NodeNames.Has(name) {
			answer.Refused[name] = Refusal{"PreFilter", "the node is not among those that PreFilter names"}
		} else if status := f.framework.RunFilterPlugins(ctx, state, pod, info); !status.IsSuccess() {
			answer.Refused[name] = *refusal(status)
		} else {
			answer.Feasible = append(answer.Feasible, name)
		}
	}
	return answer
}

// refusal tells faults of a plugin from rejections by the word Error before the message.
func refusal(status *fwk.Status) *Refusal {
	reason := strings.Join(status.Reasons(), "; ")
	if !status.IsRejected() {
		reason = fmt.Sprintf("%s: %s", status.Code(), reason)
	}
	return &Refusal{status.Plugin(), reason}
}
