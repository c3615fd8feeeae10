// The oracle: which nodes kube-scheduler's own filter plugins find feasible for each pending pod.
//
// Reads clusters as JSON lines from standard input and writes one answer a line. Each cluster is admitted first, as the
// API server would (defaults, strategies, validation), and the answer carries the admitted objects, so that whoever
// compares reads the same as the plugins did.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/klog/v2"
)

// Cluster is everything that the plugins read, by kind.
type Cluster struct {
	Namespaces           []*v1.Namespace                 `json:"namespaces"`
	Nodes                []*v1.Node                      `json:"nodes"`
	Pods                 []*v1.Pod                       `json:"pods"`
	Volumes              []*v1.PersistentVolume          `json:"persistentvolumes"`
	Claims               []*v1.PersistentVolumeClaim     `json:"persistentvolumeclaims"`
	StorageClasses       []*storagev1.StorageClass       `json:"storageclasses"`
	CSINodes             []*storagev1.CSINode            `json:"csinodes"`
	CSIDrivers           []*storagev1.CSIDriver          `json:"csidrivers"`
	CSIStorageCapacities []*storagev1.CSIStorageCapacity `json:"csistoragecapacities"`
	VolumeAttachments    []*storagev1.VolumeAttachment   `json:"volumeattachments"`
}

// Refusal names the plugin that refuses, and why.
type Refusal struct {
	Plugin string `json:"plugin"`
	Reason string `json:"reason"`
}

// Verdict is the answer for one pod: Everywhere is set where the pod is refused before any node is looked at.
type Verdict struct {
	Feasible   []string           `json:"feasible"`
	Refused    map[string]Refusal `json:"refused"`
	Everywhere *Refusal           `json:"everywhere,omitempty"`
}

// Answer is one line of output. Invalid are the objects that the API server would not take, with its words.
type Answer struct {
	Admitted Cluster            `json:"admitted"`
	Invalid  map[string]string  `json:"invalid"`
	Pods     map[string]Verdict `json:"pods"`
}

func main() {
	klog.SetLogger(klog.Logger{})
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	filters, err := newFilters(context.Background())
	if err != nil {
		return err
	}
	lines, answers := bufio.NewReaderSize(in, 1<<20), bufio.NewWriterSize(out, 1<<20)
	encoder := json.NewEncoder(answers)
	decoder := json.NewDecoder(lines)
	for {
		var cluster Cluster
		if err := decoder.Decode(&cluster); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		invalid := admit(&cluster)
		verdicts, err := filters.judge(&cluster)
		if err != nil {
			return err
		}
		if err := encoder.Encode(Answer{Admitted: cluster, Invalid: invalid, Pods: verdicts}); err != nil {
			return err
		}
		if err := answers.Flush(); err != nil {
			return err
		}
	}
}
