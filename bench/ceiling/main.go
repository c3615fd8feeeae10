// Ceiling posts one binding for every waiting pod, round the nodes, as fast as the API server takes them, and
// decides nothing: what any scheduler that binds pod by pod can reach at best on this machine.
//
//	ceiling -server URL -ca FILE -token FILE [-in-flight 48] [-events 0]
//
// With -events it also posts that many Events, spread over the run. It lists once, posts, and then waits to be ended,
// so that its processor time can be read from outside.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const namesOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

type meta struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

type list struct {
	Items []struct {
		Metadata meta `json:"metadata"`
	} `json:"items"`
}

type api struct {
	client        *http.Client
	server, token string
}

func main() {
	server := flag.String("server", "", "address of the API server")
	authority := flag.String("ca", "", "file with its certificate authority")
	tokenFile := flag.String("token", "", "file with a bearer token")
	inFlight := flag.Int("in-flight", 48, "requests at a time")
	events := flag.Int("events", 0, "Events to post beside the bindings")
	flag.Parse()
	a := connect(*server, *authority, *tokenFile, *inFlight)
	nodes := a.list("/api/v1/nodes")
	pods := a.list("/api/v1/pods?fieldSelector=spec.nodeName%3D")
	work := make(chan int)
	var all sync.WaitGroup
	for range *inFlight {
		all.Add(1)
		go func() {
			defer all.Done()
			for number := range work {
				a.bind(pods[number], nodes[number%len(nodes)].Name)
				if *events > 0 && number*(*events)/len(pods) != (number+1)*(*events)/len(pods) {
					a.tell(pods[number])
				}
			}
		}()
	}
	for number := range pods {
		work <- number
	}
	close(work)
	all.Wait()
	select {}
}

func connect(server, authority, tokenFile string, inFlight int) api {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(read(authority))
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, NextProtos: []string{"http/1.1"}},
		MaxIdleConnsPerHost: inFlight,
		DisableCompression:  true,
	}
	return api{&http.Client{Transport: transport}, server, strings.TrimSpace(string(read(tokenFile)))}
}

func (a api) list(path string) []meta {
	var found list
	if err := json.Unmarshal(a.send("GET", path, nil), &found); err != nil {
		fail(err)
	}
	metas := make([]meta, len(found.Items))
	for row, item := range found.Items {
		metas[row] = item.Metadata
	}
	return metas
}

func (a api) bind(pod meta, node string) {
	body := map[string]any{
		"apiVersion": "v1", "kind": "Binding",
		"metadata": map[string]string{"name": pod.Name, "uid": pod.UID},
		"target":   map[string]string{"apiVersion": "v1", "kind": "Node", "name": node},
	}
	a.send("POST", "/api/v1/namespaces/"+pod.Namespace+"/pods/"+pod.Name+"/binding", body)
}

func (a api) tell(pod meta) {
	body := map[string]any{
		"apiVersion": "events.k8s.io/v1", "kind": "Event",
		"metadata":  map[string]string{"name": pod.Name + ".ceiling", "namespace": pod.Namespace},
		"eventTime": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"),
		"regarding": map[string]string{"apiVersion": "v1", "kind": "Pod", "name": pod.Name, "namespace": pod.Namespace},
		"reason":    "Scheduled", "action": "Binding", "type": "Normal", "note": "bound",
		"reportingController": "ceiling", "reportingInstance": "ceiling",
	}
	a.send("POST", "/apis/events.k8s.io/v1/namespaces/"+pod.Namespace+"/events", body)
}

func (a api) send(method, path string, body any) []byte {
	text, err := json.Marshal(body)
	if err != nil {
		fail(err)
	}
	request, err := http.NewRequest(method, a.server+path, bytes.NewReader(text))
	if err != nil {
		fail(err)
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Content-Type", "application/json")
	if method == "GET" {
		request.Header.Set("Accept", namesOnly)
	}
	response, err := a.client.Do(request)
	if err != nil {
		fail(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		fail(err)
	}
	if response.StatusCode >= 300 {
		fail(fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, answer))
	}
	return answer
}

func read(file string) []byte {
	text, err := os.ReadFile(file)
	if err != nil {
		fail(err)
	}
	return text
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "ceiling:", err)
	os.Exit(1)
}
